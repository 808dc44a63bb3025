"""Translation over HTTP: the APIs of LibreTranslate and DeepL, our own, and a page.

In come requests with texts and files; out come translations, from processes that hold the models.
"""
