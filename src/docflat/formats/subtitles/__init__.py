"""SRT and WebVTT.

In come cues with their times; out come the sentences that run through them, and the cues with other text.
"""
