import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { expect, test } from '@jest/globals'
import { HTTP_LIMITS } from '../http/http-limits.ts'
import { uploadBodyOf } from './upload-path.ts'

const requestOf = (fragments: readonly Buffer[]): Pick<IncomingMessage, 'iterator'> =>
  Readable.from(fragments)

async function lengthOf(bytes: AsyncIterable<Uint8Array>): Promise<number> {
  let length = 0
  for await (const chunk of bytes) length += chunk.length
  return length
}

test('an upload passes on in the fragments in which it arrives', async () => {
  const body = uploadBodyOf(requestOf(Array.from({ length: 1_000 }, () => Buffer.alloc(1_000))))
  expect(await lengthOf(body.bytes)).toBe(1_000_000)
  expect(body.refusal()).toBeUndefined()
})

test('an upload of too many fragments is stopped with 1003, and its request stays open', async () => {
  const fragments = Array.from({ length: HTTP_LIMITS.body_fragments_base + 10 }, () => Buffer.alloc(1))
  const request = requestOf(fragments)
  const body = uploadBodyOf(request)
  await expect(lengthOf(body.bytes)).rejects.toMatchObject({ code: 1003 })
  expect(body.refusal()).toMatchObject({ code: 1003, details: { description: 'body' } })
  expect(request).toMatchObject({ destroyed: false })
})
