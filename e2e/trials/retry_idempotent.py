"""The retry policy that docs/applications.md gives to users, word for word."""

from cassandra.policies import RetryPolicy


class RetryIdempotent(RetryPolicy):
    """Tries a statement that may be repeated again, on the next node, whatever went wrong."""

    def on_read_timeout(self, query, *args, retry_num, **details):
        return self.again(query, retry_num)

    def on_write_timeout(self, query, *args, retry_num, **details):
        return self.again(query, retry_num)

    def on_unavailable(self, query, *args, retry_num, **details):
        return self.again(query, retry_num)

    def on_request_error(self, query, *args, retry_num, **details):
        return self.again(query, retry_num)

    def again(self, query, retry_num):
        if query is not None and query.is_idempotent and retry_num < 5:
            return self.RETRY_NEXT_HOST, None
        return self.RETHROW, None
