penstock_contract(redis SOURCES redis_backend.cpp
  LINK penstock_store_redis penstock_redis penstock_resp penstock_test_support Boost::url)
