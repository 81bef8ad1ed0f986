import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { RouteSchema } from '#gen/multihub/merchants/v1/route_pb.ts'
import { deepFreeze } from './deep-freeze.ts'

test('freezes arrays and objects at every depth', () => {
  const value = deepFreeze({ list: [{ deep: { text: 'a' } }] })
  expect(Object.isFrozen(value)).toBe(true)
  expect(Object.isFrozen(value.list)).toBe(true)
  expect(Object.isFrozen(value.list[0]?.deep)).toBe(true)
})

test('freezes a protobuf message with its nested messages and lists', () => {
  const route = deepFreeze(create(RouteSchema, { providerAccounts: ['a'], payoutLimits: {} }))
  expect(Object.isFrozen(route)).toBe(true)
  expect(Object.isFrozen(route.providerAccounts)).toBe(true)
  expect(Object.isFrozen(route.payoutLimits)).toBe(true)
})

test('leaves bytes, instances of classes and primitives as they are', () => {
  const url = new URL('https://example.org')
  const value = deepFreeze({ bytes: new Uint8Array(2), url, text: 'a', none: null, absent: undefined })
  expect(Object.isFrozen(value.bytes)).toBe(false)
  expect(Object.isFrozen(url)).toBe(false)
  value.bytes[0] = 1
  expect(value.bytes[0]).toBe(1)
})
