module example.com/multihub/client

go 1.23
