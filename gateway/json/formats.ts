import type { TextFormat } from './scalars.ts'

/** Two names around one at sign; the domain has a dot. Whether mail arrives there is nothing that a pattern can tell. */
const EMAIL =
  /^[^\s\p{Cc}@"(),:;<>[\\\]]{1,64}@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]{2,63}$/u

/** An e-mail address. */
export const EMAIL_ADDRESS: TextFormat = { name: 'e-mail address', test: (text) => EMAIL.test(text) }

/** WHATWG parsing drops tabs and newlines and forgives missing slashes; a text that needs that is malformed. */
const HTTP_URL_START = /^https?:\/\/[^\s\p{Cc}\\]+$/iu

/** An absolute http or https URL. */
export const HTTP_URL: TextFormat = {
  name: 'http or https URL',
  test: (text) => HTTP_URL_START.test(text) && URL.canParse(text),
}

/** A reference of the merchant's own (P2): any text without control characters. */
export const REFERENCE: TextFormat = {
  name: 'text without control characters',
  test: (text) => !/\p{Cc}/u.test(text),
}
