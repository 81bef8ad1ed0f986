import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type Effect, type EffectDocument, isUnblocked, leaseDue, newEffect, withDueTimes } from './effect.ts'

const NOW = new Date('2026-11-21T10:00:00.000Z')
const at = (ms: number): Date => new Date(NOW.getTime() + ms)
const anyKind = (): number => 5_000

function one(id: string, changes: Partial<Effect> = {}): Effect {
  return { ...newEffect({ id, kind: 'any', lane: 'timer' }, NOW), ...changes }
}
const documentOf = (...effects: Effect[]): EffectDocument => ({ effects })
const claimed = (document: EffectDocument, instant = NOW): string[] =>
  leaseDue(document, instant, anyKind)
    .effects.filter((candidate) => candidate.tries > 0)
    .map(({ id }) => id)

describe('a new effect', () => {
  test('is due at once, or when it says', () => {
    expect(newEffect({ id: 'a', kind: 'any', lane: 'money' }, NOW)).toMatchObject({
      tries: 0,
      due_at: NOW,
      data: {},
    })
    expect(newEffect({ id: 'a', kind: 'any', lane: 'money', due_at: at(5) }, NOW).due_at).toEqual(at(5))
  })
})

describe('the lanes', () => {
  test('money goes one after the other, and a stuck one holds up those behind it', () => {
    const money = [one('a', { lane: 'money' }), one('b', { lane: 'money' })] as const
    expect(claimed(documentOf(...money))).toEqual(['a'])
    expect(claimed(documentOf(money[1]))).toEqual(['b'])
    expect(claimed(documentOf({ ...money[0], stuck: true }, money[1]))).toEqual([])
    expect(claimed(documentOf({ ...money[0], due_at: at(1) }, money[1]))).toEqual([])
  })

  test('timers and events go each by itself, whatever money does', () => {
    const money = one('a', { lane: 'money', stuck: true })
    expect(claimed(documentOf(money, one('b'), one('c', { lane: 'event' }), one('d')))).toEqual([
      'b',
      'c',
      'd',
    ])
  })

  test('an effect waits for the one that it names, until that is gone', () => {
    const waiting = one('b', { lane: 'event', after: 'a' })
    expect(claimed(documentOf(one('a', { stuck: true }), waiting))).toEqual([])
    expect(claimed(documentOf(waiting))).toEqual(['b'])
  })
})

describe('a claim', () => {
  test('counts the try and leases for as long as the kind says, under a token of its own', () => {
    const { effects } = leaseDue(documentOf(one('a'), one('b')), NOW, anyKind)
    const [first, second] = effects.map(({ lease }) => lease)
    expect(effects.map(({ tries }) => tries)).toEqual([1, 1])
    expect(first?.until).toEqual(at(5_000))
    expect(first?.token).not.toBe(second?.token)
  })

  test('is not possible before its time, nor under the lease of another', () => {
    const leased = one('a', { lease: { token: 'another', until: at(10) } })
    expect(claimed(documentOf(one('b', { due_at: at(1) })), at(0))).toEqual([])
    expect(claimed(documentOf(one('b', { due_at: at(1) })), at(1))).toEqual(['b'])
    expect(claimed(documentOf(leased), at(9))).toEqual([])
    expect(claimed(documentOf(leased), at(10))).toEqual(['a'])
  })

  test('leaves alone what the runner does not accept, and then gives the very document back', () => {
    const document = documentOf(one('a'))
    expect(leaseDue(document, NOW, () => undefined)).toBe(document)
  })
})

/** Documents with all sorts of effects, some of which name others. */
const documents = fc
  .array(
    fc.record({
      lane: fc.constantFrom('money' as const, 'timer' as const, 'event' as const),
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

describe('the schedule', () => {
  test('is the first instant at which something can be claimed, for events and for the rest apart', () => {
    fc.assert(
      fc.property(documents, (document) => {
        const scheduled = withDueTimes(document, NOW)
        for (const [field, events] of [
          ['effects_due_at', false],
          ['events_due_at', true],
        ] as const) {
          const instants = Array.from({ length: 11 }, (_, step) => at(step - 5))
          const first = instants.find(
            (instant) =>
              leaseDue(document, instant, (candidate) =>
                (candidate.lane === 'event') === events ? anyKind() : undefined,
              ) !== document,
          )
          expect(scheduled[field]).toEqual(first)
        }
      }),
    )
  })

  test('knows since when something is stuck, and forgets it when nothing is', () => {
    const stuck = withDueTimes(documentOf(one('a', { stuck: true })), NOW)
    expect(stuck.stuck_at).toEqual(NOW)
    expect(withDueTimes(stuck, at(5)).stuck_at).toEqual(NOW)
    expect(withDueTimes({ ...stuck, effects: [one('a')] }, at(5))).not.toHaveProperty('stuck_at')
  })

  test('has no fields for what has no effects, also when it had some', () => {
    expect(withDueTimes({ effects: [], effects_due_at: NOW, events_due_at: NOW }, NOW)).toEqual({
      effects: [],
    })
  })

  test('never lets two money effects go at once', () => {
    fc.assert(
      fc.property(documents, (document) => {
        const free = document.effects.filter((each) => each.lane === 'money' && isUnblocked(document, each))
        expect(free.length).toBeLessThanOrEqual(1)
      }),
    )
  })
})
