import { z } from 'zod'

const text = z.string().min(1).max(128)

/** A link that opens an app. Web pages, scripts and local files are excluded. */
const APP_LINK =
  /^(?!https?:|javascript:|data:|vbscript:|file:|blob:|about:)[a-z][a-z0-9+.-]*:\/\/[\x21-\x7e]+$/i

/** The payment instructions of a provider, in our names. A link that is not safe to show makes all of them invalid. */
export const instructionsSchema = z.object({
  deep_links: z.array(z.string().max(2048).regex(APP_LINK)).min(1).max(20).exactOptional(),
  qr_payload: z.string().min(1).max(4096).exactOptional(),
  payment_url: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .exactOptional(),
  bank_account: z.object({ id: text, name: text.exactOptional() }).exactOptional(),
  bank: z.object({ name: text.exactOptional(), code: text.exactOptional() }).exactOptional(),
  phone: z.string().min(1).max(32).exactOptional(),
  document: z.object({ type: text.exactOptional(), number: text }).exactOptional(),
})
