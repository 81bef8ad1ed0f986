import type { z } from 'zod'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Parses the JSON body of a provider; `undefined` when it is not valid UTF-8, JSON, or does not fit the schema. */
export function parseBody<T>(schema: z.ZodType<T>, body: Uint8Array): T | undefined {
  try {
    return schema.safeParse(JSON.parse(decoder.decode(body))).data
  } catch {
    return undefined
  }
}
