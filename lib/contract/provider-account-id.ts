const ACCOUNT_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** Whether a text can be the id of a provider account. The id is a header and a part of the signed text of requests. */
export function isAccountId(text: string): boolean {
  return ACCOUNT_ID.test(text)
}
