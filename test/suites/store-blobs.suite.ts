import { describe, expect, test } from '@jest/globals'
import type { Blobs } from '#lib/store/store.ts'
import type { StoreUnderTest } from './store.suite.ts'

/** Blobs are stored completely or not at all, and are never replaced. */
export function blobsSuite(subject: StoreUnderTest): void {
  describe('blobs', () => {
    const open = (): Promise<Blobs> => subject.store().blobs(subject.name())

    // MongoDB stores chunks of 261,120 bytes.
    test.each([0, 1, 261_120, 261_121, 700_001])('%d bytes are stored and read', async (size) => {
      const blobs = await open()
      const bytes = Buffer.alloc(size, 'some bytes, again and again. ')
      expect(await blobs.put('one', parts(bytes, 100_003))).toBe(size)
      expect(await contentOf(blobs, 'one')).toEqual(bytes)
    })

    test('are never replaced, and one of several writers succeeds completely', async () => {
      const blobs = await open()
      const contents = Array.from({ length: 6 }, (_, at) => Buffer.alloc(300_000 + at, `writer ${at}`))
      const outcomes = await Promise.allSettled(
        contents.map((content) => blobs.put('one', parts(content, 50_000))),
      )
      const winners = outcomes.flatMap(({ status }, at) => (status === 'fulfilled' ? [at] : []))
      expect(winners).toHaveLength(1)
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected')
          expect(outcome.reason).toMatchObject({ name: 'Duplicate', index: 'key' })
      }
      expect(await contentOf(blobs, 'one')).toEqual(contents[winners[0] ?? 0])
      await expect(blobs.put('one', parts(Buffer.from('late'), 1))).rejects.toMatchObject({
        name: 'Duplicate',
      })
    })

    test('are not stored when their source fails, and the id can be used again', async () => {
      const blobs = await open()
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield Buffer.alloc(600_000)
        throw new RangeError('the source broke')
      }
      await expect(blobs.put('one', broken())).rejects.toBeInstanceOf(RangeError)
      expect(await blobs.get('one')).toBeUndefined()
      await blobs.put('one', parts(Buffer.from('second'), 10))
      expect(await contentOf(blobs, 'one')).toEqual(Buffer.from('second'))
    })

    test('are absent after a delete, which may be repeated', async () => {
      const blobs = await open()
      await blobs.put('one', parts(Buffer.alloc(300_000), 300_000))
      await blobs.delete('one')
      await blobs.delete('one')
      expect(await blobs.get('one')).toBeUndefined()
      await blobs.put('one', parts(Buffer.from('again'), 10))
    })

    test.each(['', '.', '..', '../up', 'a/b', 'a\u0000', 'ü', 'x'.repeat(129)])(
      'refuse the id %j',
      async (id) => {
        const blobs = await open()
        await expect(blobs.put(id, parts(Buffer.from('x'), 1))).rejects.toBeInstanceOf(TypeError)
        await expect(blobs.get(id)).rejects.toBeInstanceOf(TypeError)
        await expect(blobs.delete(id)).rejects.toBeInstanceOf(TypeError)
      },
    )

    test('refuse an invalid collection name', async () => {
      await expect(subject.store().blobs('../up')).rejects.toBeInstanceOf(TypeError)
    })
  })
}

async function* parts(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function contentOf(blobs: Blobs, id: string): Promise<Buffer | undefined> {
  const stream = await blobs.get(id)
  if (stream === undefined) return undefined
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}
