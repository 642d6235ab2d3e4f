# Reads the symbols an archive leaves undefined; a forbidden one fails the test and is named.
set(FORBIDDEN
    "^clock_gettime|^gettimeofday|^time$|^localtime|^mktime$|_clock3nowEv|random_device|^s?rand(om)?$|getenv|^open(64)?$|^fopen|basic_[io]?f?stream.*open|^socket$|^connect$|^pthread_create|_ZNSt6thread|_ZSt4cout|_ZSt4cerr|^write$|^read$|^nanosleep|^usleep|^fork$|^exec")
execute_process(COMMAND ${NM} -u ${LIB} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "U [^\n]+" undefined "${symbols}")
foreach(symbol IN LISTS undefined)
  string(SUBSTRING "${symbol}" 2 -1 symbol)
  string(REGEX REPLACE "@.*" "" symbol "${symbol}")
  if(symbol MATCHES "${FORBIDDEN}")
    message(SEND_ERROR "${LIB} reaches outside the core: ${symbol}")
  endif()
endforeach()
