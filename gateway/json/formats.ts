import { textFormat } from './scalars.ts'

/** Two names around one at sign; the domain has a dot. Whether mail arrives there is nothing that a pattern can tell. */
const EMAIL =
  /^[^\s\p{Cc}\p{Cs}@"(),:;<>[\\\]]{1,64}@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]{2,63}$/u

/** An e-mail address. */
export const EMAIL_ADDRESS = textFormat({ name: 'e-mail address', pattern: EMAIL, json_format: 'idn-email' })

/** WHATWG parsing drops tabs and newlines and forgives missing slashes; a text that needs that is malformed. */
const HTTP_URL_START = /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s\p{Cc}\p{Cs}\\]+$/u

/** An absolute http or https URL. */
export const HTTP_URL = textFormat({
  name: 'http or https URL',
  pattern: HTTP_URL_START,
  json_format: 'iri',
  also: (text) => URL.canParse(text),
})

/** A reference of the merchant's own (P2): any text without control characters. */
export const REFERENCE = textFormat({
  name: 'text without control characters',
  pattern: /^[^\p{Cc}\p{Cs}]*$/u,
})
