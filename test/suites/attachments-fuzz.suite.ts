import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Attachment } from '../../services/attachments/domain/attachment.ts'
import { openAttachmentsStore } from '../../services/attachments/store/attachments-store.ts'
import {
  type FilesClient,
  type FilesSystem,
  type PreparedUpload,
  transfer,
} from '../integration/attachments.fixture.ts'
import { eventually } from '../support/eventually.ts'

/** The announced bytes, and others of the same length. */
const CONTENTS = { right: Buffer.alloc(70_000, 'right '), wrong: Buffer.alloc(70_000, 'wrong ') } as const
type Which = keyof typeof CONTENTS

/** One upload: what it sends, in how many pieces, and where it stops or what it adds. */
interface Attempt {
  readonly which: Which
  readonly pieces: number
  readonly end: 'whole' | 'cut' | 'more' | 'announces more' | 'announces less'
  readonly cut_at: number
  /** A slow sender stops after its first piece until all others of its step have ended. */
  readonly is_slow: boolean
}

type Step = { readonly kind: 'put'; readonly at_once: readonly Attempt[] } | { readonly kind: 'finalize' }

const attempt: fc.Arbitrary<Attempt> = fc.record({
  which: fc.constantFrom<Which>('right', 'right', 'wrong'),
  pieces: fc.integer({ min: 1, max: 8 }),
  end: fc.constantFrom<Attempt['end']>(
    'whole',
    'whole',
    'whole',
    'cut',
    'more',
    'announces more',
    'announces less',
  ),
  cut_at: fc.nat(69_999),
  is_slow: fc.boolean(),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      at_once: fc.array(attempt, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('finalize' as const) }) },
)

/**
 * Sends an upload over a connection of its own; a slow one waits for `others`. Returns the HTTP status, or 0 when there was
 * no response.
 */
function put(
  { url, headers }: PreparedUpload,
  { which, pieces, end, cut_at, is_slow }: Attempt,
  others: Promise<unknown> = Promise.resolve(),
): Promise<number> {
  const { hostname, port, pathname } = new URL(url)
  const content = CONTENTS[which]
  const announced = content.length + (end === 'announces more' ? 1 : end === 'announces less' ? -1 : 0)
  const sent =
    end === 'cut' ? content.subarray(0, cut_at) : end === 'more' ? Buffer.concat([content, content]) : content
  const all_headers = { Host: 'a', Connection: 'close', ...headers, 'Content-Length': String(announced) }
  const head = Object.entries(all_headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    let response = ''
    socket.on('error', () => {})
    socket.setEncoding('latin1').on('data', (text: string) => {
      response += text
    })
    socket.on('close', () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1] ?? 0)))
    const send = async (): Promise<void> => {
      socket.write(`PUT ${pathname} HTTP/1.1\r\n${head.join('')}\r\n`)
      const size = Math.ceil(sent.length / pieces)
      for (let at = 0; at < sent.length; at += size) {
        socket.write(sent.subarray(at, at + size))
        await (is_slow && at === 0 ? others : new Promise((next) => setImmediate(next)))
      }
      if (end === 'cut') socket.destroy()
    }
    void send()
  })
}

/** Sends several uploads at once. Returns their HTTP statuses in the same order. */
function putAtOnce(prepared: PreparedUpload, attempts: readonly Attempt[]): Promise<readonly number[]> {
  const all = Promise.withResolvers<unknown>()
  const results = attempts.map((one) => put(prepared, one, all.promise))
  all.resolve(Promise.all(results.filter((_, at) => !attempts[at]?.is_slow)))
  return Promise.all(results)
}

/** The codes that a finalize may have: with nothing uploaded, with the right bytes, with the wrong ones. */
function codesFor(uploaded: ReadonlySet<Which>): readonly number[] {
  if (uploaded.size === 0) return [13003]
  return [...uploaded].map((which) => (which === 'right' ? 200 : 13004))
}

/** Whether nothing is left to do but deleting again, much later, what a writer that was overtaken might still store. */
function isIdle(attachment: Attachment | undefined): boolean {
  return attachment?.effects.every(({ due_at }) => due_at.getTime() > Date.now()) ?? false
}

/** A system, and what uploads have left on its kind of store. */
export interface FuzzedFiles {
  readonly system: FilesSystem
  /** The number of uploads whose bytes are stored without being a blob. */
  unfinished(): Promise<number>
}

/** Uploads in every order and of every kind, which must not confuse any store. */
export function attachmentsFuzzSuite(name: string, start: () => Promise<FuzzedFiles>): void {
  describe(`uploads on ${name}`, () => {
    let system: FilesSystem
    let shop: FilesClient
    let unfinished: FuzzedFiles['unfinished']
    beforeAll(async () => {
      ;({ system, unfinished } = await start())
    })
    afterAll(async () => system[Symbol.asyncDispose]())

    // F2, F3
    test('however uploads go, a file that is ready has exactly the announced bytes, and no others are kept', async () => {
      const { attachments, files } = await openAttachmentsStore(system.roles.storeOf('attachments'))
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
          shop = await system.newMerchant()
          const prepared = await shop.prepare(CONTENTS.right)
          const { h_id } = prepared
          const key = { merchant_id: shop.merchant_id, environment: 'test', attachment_id: h_id }
          const seen_blobs = new Set<string>()
          /** What the last complete upload may have been. */
          let uploaded: ReadonlySet<Which> = new Set()
          let finalized: 'open' | 'scanning' | 'rejected' = 'open'
          for (const each of steps) {
            if (each.kind === 'put') {
              const results = await putAtOnce(prepared, each.at_once)
              const accepted = each.at_once.filter((_, at) => results[at] === 200)
              for (const { end } of accepted) expect(['whole', 'more']).toContain(end)
              if (finalized !== 'open') expect(accepted).toEqual([])
              if (accepted.length > 0) uploaded = new Set(accepted.map(({ which }) => which))
              const blob_id = (await attachments.get(key))?.upload?.blob_id
              if (blob_id !== undefined) seen_blobs.add(blob_id)
            } else {
              const { body } = await shop.finalize(h_id)
              const code = body.success ? 200 : body.error.code
              const expected =
                finalized === 'scanning' ? [200] : finalized === 'rejected' ? [13004] : codesFor(uploaded)
              expect(expected).toContain(code)
              if (code === 200) finalized = 'scanning'
              if (code === 13004) finalized = 'rejected'
            }
          }
          // A connection that was cut gives its place back by itself.
          if (finalized === 'open') {
            const whole = { which: 'right', pieces: 2, end: 'whole', cut_at: 0, is_slow: false } as const
            await eventually(
              () => put(prepared, whole),
              (http_status) => http_status === 200,
            )
            expect((await shop.finalize(h_id)).http_status).toBe(200)
          }
          const stored = await eventually(
            () => attachments.get(key),
            (attachment) => ['ready', 'rejected'].includes(attachment?.status ?? '') && isIdle(attachment),
          )
          if (stored?.status === 'ready') {
            const { url } = (await shop.get(h_id)).body.result.download
            expect((await transfer(url, { method: 'GET' })).content.equals(CONTENTS.right)).toBe(true)
          } else expect(finalized).toBe('rejected')
          seen_blobs.delete(stored?.upload?.blob_id ?? '')
          for (const blob_id of seen_blobs) expect(await files.get(blob_id)).toBeUndefined()
        }),
        { numRuns: 40 },
      )
      await eventually(unfinished, (count) => count === 0)
    })
  })
}
