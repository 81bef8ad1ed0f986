import { afterEach, beforeEach, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import { propertyRuns } from '../../test/support/property-runs.ts'
import { type BodyMemoryBudget, createBodyMemoryBudget } from './body-memory.ts'
import { HTTP_LIMITS } from './http-limits.ts'

const { short_body_bytes, network_body_memory_bytes, body_memory_bytes } = HTTP_LIMITS
const HALF = body_memory_bytes / 2
const MIB = 1024 * 1024

let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

/** A body that took memory, and what became of it. */
interface TestBody {
  readonly network: string
  bytes: number
  is_authenticated: boolean
  is_dropped: boolean
  grow(bytes: number): boolean
  release(): void
}

function openBody(budget: BodyMemoryBudget, network: string): TestBody {
  const reservation = budget.openReservation({
    networkOf: () => network,
    isAuthenticated: () => body.is_authenticated,
  })
  const body: TestBody = {
    network,
    bytes: 0,
    is_authenticated: false,
    is_dropped: false,
    grow(bytes) {
      const is_reserved = reservation.reserve(bytes)
      body.bytes = is_reserved ? body.bytes + bytes : 0
      return is_reserved
    },
    release() {
      body.bytes = 0
      reservation.release()
    },
  }
  reservation.onDropped(() => {
    body.bytes = 0
    body.is_dropped = true
  })
  return body
}

/** A body of this length beyond what needs no reservation. */
function longBody(budget: BodyMemoryBudget, network: string, bytes: number): TestBody {
  const body = openBody(budget, network)
  body.grow(bytes + short_body_bytes)
  return body
}

test('short bodies need no memory, also when there is none', () => {
  const budget = createBodyMemoryBudget()
  for (let host = 0; host < 10; host += 1) longBody(budget, `a${host}`, network_body_memory_bytes)
  expect(openBody(budget, 'b').grow(short_body_bytes)).toBe(true)
})

test('the oldest body of a network, and of all networks, goes first', () => {
  const budget = createBodyMemoryBudget()
  const bodies = Array.from({ length: 17 }, () => longBody(budget, 'one', MIB))
  expect(bodies.map(({ is_dropped }) => is_dropped)).toEqual(bodies.map((_, index) => index === 0))
  const others = Array.from({ length: 48 }, (_, index) => longBody(budget, `${index}`, MIB))
  expect(bodies.map(({ is_dropped }) => is_dropped)).toEqual(bodies.map((_, index) => index === 0))
  others.push(longBody(budget, 'last', MIB))
  expect(bodies.map(({ is_dropped }) => is_dropped)).toEqual(bodies.map((_, index) => index <= 1))
  expect(others.some(({ is_dropped }) => is_dropped)).toBe(false)
})

test('a body that is the oldest itself gets no more memory', () => {
  const budget = createBodyMemoryBudget()
  const oldest = longBody(budget, 'one', MIB)
  for (let count = 1; count < 16; count += 1) longBody(budget, 'one', MIB)
  expect(oldest.grow(1)).toBe(false)
  expect(longBody(budget, 'one', MIB).bytes).toBeGreaterThan(0)
})

test('half the memory is for networks that sent a valid signature in the last hour', async () => {
  const budget = createBodyMemoryBudget()
  budget.markProven('merchant')
  const merchant = longBody(budget, 'merchant', network_body_memory_bytes)
  for (let host = 0; host < 100; host += 1) longBody(budget, `a${host}`, network_body_memory_bytes)
  expect(merchant.is_dropped).toBe(false)
  merchant.release()
  await clock.advance(3_600_000)
  const unknown = longBody(budget, 'merchant', network_body_memory_bytes)
  for (let host = 0; host < 4; host += 1) longBody(budget, `a${host}`, network_body_memory_bytes)
  expect(unknown.is_dropped).toBe(true)
})

test('the last 10,000 networks with a valid signature are remembered', () => {
  const budget = createBodyMemoryBudget()
  for (const network of ['active', 'silent']) budget.markProven(network)
  for (let host = 0; host < 9_999; host += 1) {
    if (host === 5_000) budget.markProven('active')
    budget.markProven(`b${host}`)
  }
  const [active, silent] = ['active', 'silent'].map((network) =>
    longBody(budget, network, network_body_memory_bytes),
  )
  for (let host = 0; host < 100; host += 1) longBody(budget, `a${host}`, network_body_memory_bytes)
  expect([active?.is_dropped, silent?.is_dropped]).toEqual([false, true])
})

test('an authenticated body is not dropped, and its memory can be reserved again when it is released', () => {
  const budget = createBodyMemoryBudget()
  const bodies = Array.from({ length: 16 }, () => longBody(budget, 'one', MIB))
  for (const body of bodies) body.is_authenticated = true
  expect(openBody(budget, 'one').grow(MIB)).toBe(false)
  bodies[3]?.release()
  bodies[3]?.release()
  expect(openBody(budget, 'one').grow(MIB)).toBe(true)
  expect(openBody(budget, 'one').grow(MIB)).toBe(true)
  expect(bodies.some(({ is_dropped }) => is_dropped)).toBe(false)
})

const step = fc.record({
  network: fc.integer({ min: 0, max: 11 }),
  bytes: fc.integer({ min: 1, max: 4 * MIB }),
  kind: fc.constantFrom('open', 'open', 'open', 'grow', 'release', 'authenticate'),
})

// Networks from 8 on have sent a valid signature.
test('whatever strangers do, no limit is passed, and they take no memory from networks with a valid signature', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 50, maxLength: 200, size: 'max' }), (steps) => {
      const budget = createBodyMemoryBudget()
      const isProven = (network: string): boolean => Number(network) >= 8
      for (let number = 8; number < 12; number += 1) budget.markProven(`${number}`)
      let open: TestBody[] = []
      const bytesOf = (matches: (network: string) => boolean): number =>
        open
          .filter(({ network }) => matches(network))
          .reduce((sum, { bytes }) => sum + Math.max(0, bytes - short_body_bytes), 0)
      for (const { kind, network: number, bytes } of steps) {
        const network = `${number}`
        const of_network = open.filter((body) => body.network === network)
        const [oldest] = of_network
        const strangers = open.filter((body) => !isProven(body.network))
        const others = open.filter((body) => isProven(body.network) !== isProven(network))
        if (kind === 'open') {
          const body = openBody(budget, network)
          open.push(body)
          const may_fail = [...of_network, ...strangers].some(({ is_authenticated }) => is_authenticated)
          expect(body.grow(bytes) || may_fail || isProven(network)).toBe(true)
        } else if (kind === 'grow') oldest?.grow(bytes)
        else if (kind === 'release') oldest?.release()
        else if (oldest) oldest.is_authenticated = true
        expect(others.some(({ is_dropped }) => is_dropped)).toBe(false)
        expect(open.some((body) => body.is_dropped && body.is_authenticated)).toBe(false)
        open = open.filter((body) => body.bytes > 0)
        expect(bytesOf(isProven)).toBeLessThanOrEqual(HALF)
        expect(bytesOf((name) => !isProven(name))).toBeLessThanOrEqual(HALF)
        expect(bytesOf((name) => name === network)).toBeLessThanOrEqual(network_body_memory_bytes)
      }
    }),
    { numRuns: propertyRuns(200) },
  )
})
