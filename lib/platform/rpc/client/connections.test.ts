import { expect, test } from '@jest/globals'
import { createOutgoingConnections } from './connections.ts'

test('has one connection per address, and refuses the address after 256 others', () => {
  const connections = createOutgoingConnections(undefined, undefined)
  const addresses = Array.from({ length: 256 }, (_, index) => `127.0.0.1:${1 + index}`)
  const opened = addresses.map(connections.to)
  expect(new Set(opened).size).toBe(256)
  expect(() => connections.to('127.0.0.1:1000')).toThrow('more than 256 addresses of other processes')
  expect(addresses.map(connections.to)).toEqual(opened)
  connections.close()
})
