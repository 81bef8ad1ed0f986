import { afterEach, describe, expect, test } from '@jest/globals'
import { currentRequest, withRequest } from '#lib/base/context.ts'
import type { Bus, Message } from '#lib/bus/bus.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'

/** Two ends of one bus: the same object, or two connections. */
export interface BusPair {
  readonly near: Bus
  readonly far: Bus
}

const text = (value: string): Uint8Array => new TextEncoder().encode(value)
const read = ({ data }: Message): string => new TextDecoder().decode(data)

/** A handler that records its messages, and `until`, which waits for the n-th message. */
function recorder(): {
  handle(message: Message): void
  until(count: number): Promise<Message[]>
  received: Message[]
} {
  const received: Message[] = []
  let check = (): void => {}
  return {
    received,
    handle(message) {
      received.push(message)
      check()
    },
    until: (count) =>
      new Promise((resolve) => {
        check = () => {
          if (received.length >= count) resolve(received)
        }
        check()
      }),
  }
}

/** A promise and the function that resolves it. */
function gate(): { opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

/** Checks the behaviour that every adapter of the bus must have. */
export function busSuite(name: string, openPair: () => Promise<BusPair>): void {
  describe(`the bus over ${name}`, () => {
    let pairs: BusPair[] = []
    afterEach(async () => {
      await Promise.all(pairs.flatMap(({ near, far }) => [near.close(), far.close()]))
      pairs = []
    })
    const open = async (): Promise<BusPair> => {
      const pair = await openPair()
      pairs.push(pair)
      return pair
    }

    test('carries a message with its subject, bytes and headers, unchanged', async () => {
      const { near, far } = await open()
      const { handle, until } = recorder()
      await far.subscribe('events.payment.completed', handle)
      const every_byte = Uint8Array.from({ length: 256 }, (_, byte) => byte)
      const headers = {
        'receipt-subject': 'receipts.a-1',
        traceparent: '00-ab-cd-01',
        empty: '',
        spaced: 'a: b  c',
      }
      await near.publish('events.payment.completed', every_byte, headers)
      await near.publish('events.payment.completed', new Uint8Array())
      const [first, second] = await until(2)
      expect(first?.subject).toBe('events.payment.completed')
      expect(Buffer.from(first?.data ?? [])).toEqual(Buffer.from(every_byte))
      expect(first?.headers).toEqual(headers)
      expect(second?.data).toHaveLength(0)
      expect(second?.headers).toEqual({})
    })

    test('a later change of the headers by the publisher does not reach the subscriber', async () => {
      const { near, far } = await open()
      const { handle, until } = recorder()
      await far.subscribe('a', handle)
      const headers = { kept: 'before' }
      await near.publish('a', text(''), headers)
      headers.kept = 'after'
      expect((await until(1))[0]?.headers).toEqual({ kept: 'before' })
    })

    test.each([
      ['a.b', ['a.b']],
      ['a.*', ['a.b', 'a.c']],
      ['*.b', ['a.b', 'b.b']],
      ['a.>', ['a.b', 'a.c', 'a.b.c']],
      ['*.*.c', ['a.b.c']],
      ['>', ['a', 'a.b', 'a.c', 'b.b', 'a.b.c']],
    ])('a subscription to %s receives exactly %j', async (pattern, expected) => {
      const { near, far } = await open()
      const { handle, until, received } = recorder()
      const end = recorder()
      await far.subscribe(pattern, handle)
      await far.subscribe('zz.end', end.handle)
      for (const subject of ['a', 'a.b', 'a.c', 'b.b', 'a.b.c']) await near.publish(subject, text(''))
      await near.publish('zz.end', text(''))
      await Promise.all([until(expected.length), end.until(1)])
      const subjects = received.map(({ subject }) => subject).filter((subject) => subject !== 'zz.end')
      expect(subjects.sort()).toEqual([...expected].sort())
    })

    test('every subscriber without a queue group receives a message, and exactly one of each group', async () => {
      const { near, far } = await open()
      const plain = [recorder(), recorder()]
      const queued = [recorder(), recorder(), recorder()]
      const other = recorder()
      for (const { handle } of plain) await far.subscribe('work.*', handle)
      for (const { handle } of queued) await far.subscribe('work.*', handle, { queue_group: 'q' })
      await near.subscribe('work.>', other.handle, { queue_group: 'other' })
      const count = 300
      for (let n = 0; n < count; n += 1) await near.publish(`work.${n % 7}`, text(`${n}`))
      await Promise.all([...plain, other].map(({ until }) => until(count)))
      await far.close()
      const all = queued.flatMap(({ received }) => received.map(read))
      expect(all.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, n) => n))
      for (const { received } of queued) expect(received.length).toBeGreaterThan(count / 10)
    })

    test('one subscriber receives the messages of one subject in order', async () => {
      const { near, far } = await open()
      const { handle, until } = recorder()
      await far.subscribe('in.order', handle)
      for (let n = 0; n < 500; n += 1) await near.publish('in.order', text(`${n}`))
      expect((await until(500)).map(read)).toEqual(Array.from({ length: 500 }, (_, n) => `${n}`))
    })

    test('a handler runs after the call of the publisher and outside its request context', async () => {
      const { near, far } = await open()
      const contexts: unknown[] = []
      const { handle, until } = recorder()
      await far.subscribe('a', (message) => {
        contexts.push(currentRequest())
        handle(message)
      })
      await withRequest({ request_id: 'r' }, async () => {
        const published = near.publish('a', text(''))
        expect(contexts).toEqual([])
        await published
        await until(1)
      })
      expect(contexts).toEqual([undefined])
    })

    test('runs at most `concurrency` handlers of a subscription at once', async () => {
      const { near, far } = await open()
      const done = recorder()
      const release = gate()
      const third = gate()
      let running = 0
      let most = 0
      const handler = async (message: Message): Promise<void> => {
        running += 1
        most = Math.max(most, running)
        if (running === 3) third.open()
        await release.opened
        running -= 1
        done.handle(message)
      }
      await far.subscribe('a', handler, { concurrency: 3 })
      for (let n = 0; n < 20; n += 1) await near.publish('a', text(`${n}`))
      await third.opened
      release.open()
      await done.until(20)
      expect(most).toBe(3)
    })

    test('drops messages beyond `pending_max`, and accepts messages again when there is room', async () => {
      const { near, far } = await open()
      const { handle, until, received } = recorder()
      const all = recorder()
      const release = gate()
      const slow = async (message: Message): Promise<void> => {
        await release.opened
        handle(message)
      }
      await far.subscribe('a', slow, { concurrency: 2, pending_max: 5 })
      await far.subscribe('a', all.handle)
      for (let n = 0; n < 50; n += 1) await near.publish('a', text(`${n}`))
      await all.until(50)
      release.open()
      await until(7)
      await near.publish('a', text('later'))
      await until(8)
      expect(received.map(read)).toEqual(['0', '1', '2', '3', '4', '5', '6', 'later'])
    })

    test('a handler that throws or rejects does not stop later messages', async () => {
      const { near, far } = await open()
      const { handle, until } = recorder()
      await far.subscribe('a', (message) => {
        if (read(message) === 'throw') throw new Error('on purpose')
        if (read(message) === 'reject') return Promise.reject(new Error('on purpose'))
        return handle(message)
      })
      for (const what of ['throw', 'reject', 'pass']) await near.publish('a', text(what))
      expect((await until(1)).map(read)).toEqual(['pass'])
    })

    test('closing a subscription waits for its handlers and accepts no new message', async () => {
      const { near, far } = await open()
      const started = gate()
      const release = gate()
      const ended: string[] = []
      const subscription = await far.subscribe('a', async (message) => {
        started.open()
        await release.opened
        ended.push(read(message))
      })
      await near.publish('a', text('running'))
      await started.opened
      const closed = subscription.close()
      release.open()
      await closed
      expect(ended).toEqual(['running'])
      const end = recorder()
      await far.subscribe('a', end.handle)
      await near.publish('a', text('after'))
      await end.until(1)
      expect(ended).toEqual(['running'])
    })

    test('closing the bus handles received messages, then refuses publish and subscribe', async () => {
      const { near, far } = await open()
      const ended: string[] = []
      const probe = recorder()
      await far.subscribe('a', async (message) => {
        await Promise.resolve()
        ended.push(read(message))
      })
      await far.subscribe('a', probe.handle)
      for (let n = 0; n < 10; n += 1) await near.publish('a', text(`${n}`))
      await probe.until(10)
      expect(far.isConnected()).toBe(true)
      await far.close()
      expect(ended).toHaveLength(10)
      expect(far.isConnected()).toBe(false)
      await expect(far.publish('a', text(''))).rejects.toThrow(Unavailable)
      await expect(far.subscribe('a', () => {})).rejects.toThrow(Unavailable)
      await far.close()
    })

    test.each(['', '.', 'a.', '.a', 'a..b', 'a b', 'a\r\nb', 'é', 'a.*', 'a.>', 'x'.repeat(300)])(
      'refuses to publish under %j',
      async (subject) => {
        const { near } = await open()
        await expect(near.publish(subject, text(''))).rejects.toThrow(TypeError)
      },
    )

    test.each(['', 'a..b', 'a.>.b', 'a*', '>a', 'a b'])('refuses to subscribe to %j', async (pattern) => {
      const { near } = await open()
      await expect(near.subscribe(pattern, () => {})).rejects.toThrow(TypeError)
    })

    test.each([{ Upper: 'x' }, { 'a b': 'x' }, { a: 'x\r\ny: z' }, { a: 'é' }, { a: ' x' }, { '': 'x' }])(
      'refuses the headers %j',
      async (headers) => {
        const { near } = await open()
        await expect(near.publish('a', text(''), headers)).rejects.toThrow(TypeError)
      },
    )

    test('carries a message just below 1 MiB, and refuses one of 1 MiB', async () => {
      const { near, far } = await open()
      const { handle, until } = recorder()
      await far.subscribe('large', handle)
      await near.publish('large', new Uint8Array(1024 * 1024 - 1024), { a: 'x'.repeat(500) })
      expect((await until(1))[0]?.data).toHaveLength(1024 * 1024 - 1024)
      await expect(near.publish('large', new Uint8Array(1024 * 1024))).rejects.toThrow(TypeError)
    })
  })
}
