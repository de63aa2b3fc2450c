// Owner of the precompiled header that the tests share.
int main() {}
