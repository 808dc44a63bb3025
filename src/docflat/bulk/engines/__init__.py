"""Who does the shards: processes of this machine, or a Ray cluster. In come shards; out come their receipts."""
