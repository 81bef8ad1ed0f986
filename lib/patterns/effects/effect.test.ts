import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createEffect, type Effect, type EffectDocument, LANES, mayRun, withDueTimes } from './effect.ts'
import { type LeaseTerms, leaseDue } from './leases.ts'

const NOW = new Date('2026-11-21T10:00:00.000Z')
const at = (ms: number): Date => new Date(NOW.getTime() + ms)
const RUN = 'a run'
const leaseAll = (): LeaseTerms => ({ lease_ms: 5_000 })

function one(id: string, changes: Partial<Effect> = {}): Effect {
  return { ...createEffect({ id, kind: 'any', lane: 'independent' }, NOW), ...changes }
}
const documentOf = (...effects: Effect[]): EffectDocument => ({ effects })
const leasedIds = (document: EffectDocument, instant = NOW): string[] =>
  leaseDue(document, instant, RUN, leaseAll)
    .effects.filter((candidate) => candidate.tries > 0)
    .map(({ id }) => id)

describe('a new effect', () => {
  test('is due at once unless it has a due time', () => {
    expect(createEffect({ id: 'a', kind: 'any', lane: 'money' }, NOW)).toMatchObject({
      tries: 0,
      due_at: NOW,
      data: {},
    })
    expect(createEffect({ id: 'a', kind: 'any', lane: 'money', due_at: at(5) }, NOW).due_at).toEqual(at(5))
  })
})

describe('the lanes', () => {
  test('money effects run one after the other, and a stuck one blocks the later ones', () => {
    const money = [one('a', { lane: 'money' }), one('b', { lane: 'money' })] as const
    expect(leasedIds(documentOf(...money))).toEqual(['a'])
    expect(leasedIds(documentOf(money[1]))).toEqual(['b'])
    expect(leasedIds(documentOf({ ...money[0], stuck: true }, money[1]))).toEqual([])
    expect(leasedIds(documentOf({ ...money[0], due_at: at(1) }, money[1]))).toEqual([])
  })

  test('independent effects and events do not wait for money effects', () => {
    const money = one('a', { lane: 'money', stuck: true })
    expect(leasedIds(documentOf(money, one('b'), one('c', { lane: 'event' }), one('d')))).toEqual([
      'b',
      'c',
      'd',
    ])
  })

  test('an effect waits until the effect that it names is gone', () => {
    const waiting = one('b', { lane: 'event', after: 'a' })
    expect(leasedIds(documentOf(one('a', { stuck: true }), waiting))).toEqual([])
    expect(leasedIds(documentOf(waiting))).toEqual(['b'])
  })
})

describe('a lease', () => {
  test('counts the try, and has its own token, the given duration and the run of its holder', () => {
    const { effects } = leaseDue(documentOf(one('a'), one('b')), NOW, RUN, leaseAll)
    const [first, second] = effects.map(({ lease }) => lease)
    expect(effects.map(({ tries }) => tries)).toEqual([1, 1])
    expect(first).toMatchObject({ until: at(5_000), run: RUN })
    expect(first?.token).not.toBe(second?.token)
  })

  test('is not given before the due time or before the present lease expires', () => {
    const leased = one('a', { lease: { token: 'another', until: at(10) } })
    expect(leasedIds(documentOf(one('b', { due_at: at(1) })), at(0))).toEqual([])
    expect(leasedIds(documentOf(one('b', { due_at: at(1) })), at(1))).toEqual(['b'])
    expect(leasedIds(documentOf(leased), at(9))).toEqual([])
    expect(leasedIds(documentOf(leased), at(10))).toEqual(['a'])
  })

  test('is not given for effects that the runner rejects, and the same document is returned', () => {
    const document = documentOf(one('a'))
    expect(leaseDue(document, NOW, RUN, () => undefined)).toBe(document)
  })
})

/** Documents with random effects, some of which wait for others. */
const documents = fc
  .array(
    fc.record({
      lane: fc.constantFrom(...LANES),
      due: fc.integer({ min: -5, max: 5 }),
      leased: fc.option(fc.integer({ min: -5, max: 5 })),
      stuck: fc.boolean(),
      after: fc.option(fc.nat(6)),
    }),
    { maxLength: 6 },
  )
  .map((shapes) =>
    documentOf(
      ...shapes.map(({ lane, due, leased, stuck, after }, index) =>
        one(`${index}`, {
          lane,
          due_at: at(due),
          ...(leased === null ? {} : { lease: { token: 't', until: at(leased) } }),
          ...(stuck ? { stuck: true } : {}),
          ...(after === null ? {} : { after: `${after}` }),
        }),
      ),
    ),
  )

describe('the due times', () => {
  test.each(LANES)('of the lane %s is the first time at which one of its effects can be leased', (lane) => {
    fc.assert(
      fc.property(documents, (document) => {
        const scheduled = withDueTimes(document, NOW)
        const instants = Array.from({ length: 11 }, (_, step) => at(step - 5))
        const leaseLane = (candidate: Effect) => (candidate.lane === lane ? leaseAll() : undefined)
        const first = instants.find((instant) => leaseDue(document, instant, RUN, leaseLane) !== document)
        expect(scheduled[`${lane}_due_at`]).toEqual(first)
      }),
    )
  })

  test('include since when an effect is stuck, and omit it when none is', () => {
    const stuck = withDueTimes(documentOf(one('a', { stuck: true })), NOW)
    expect(stuck.stuck_at).toEqual(NOW)
    expect(withDueTimes(stuck, at(5)).stuck_at).toEqual(NOW)
    expect(withDueTimes({ ...stuck, effects: [one('a')] }, at(5))).not.toHaveProperty('stuck_at')
  })

  test('are absent without effects', () => {
    expect(withDueTimes({ effects: [], money_due_at: NOW, event_due_at: NOW }, NOW)).toEqual({
      effects: [],
    })
  })

  test('never unblock two money effects at once', () => {
    fc.assert(
      fc.property(documents, (document) => {
        const free = document.effects.filter((each) => each.lane === 'money' && mayRun(document, each))
        expect(free.length).toBeLessThanOrEqual(1)
      }),
    )
  })
})
