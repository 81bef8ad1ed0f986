import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { isUnary, roleOf } from '#lib/rpc/service.ts'
import { nameOfRpc, OPERATOR_RPCS, OWN_RPCS } from './operator-rpcs.ts'

/** The handlers of all services, as `package.Service/Rpc` with their callers. */
function handlers(): readonly { readonly rpc: string; readonly callers: string }[] {
  return readdirSync('services', { recursive: true, encoding: 'utf8' })
    .filter((file) => /[\\/]rpc[\\/][a-z-]+\.ts$/.test(file) && !/\.(test|fixture)\.ts$/.test(file))
    .flatMap((file) => {
      const source = readFileSync(join('services', file), 'utf8')
      const [, service = ''] = /rpcService\(\s*(\w+)/.exec(source) ?? []
      const [, role = ''] =
        new RegExp(`\\b${service}\\b[^;]*?#gen/multihub/(\\w+)/v1`, 's').exec(source) ?? []
      return [...source.matchAll(/(\w+): by\(\s*\[([^\]]*)\]/g)].map(([, name = '', callers = '']) => ({
        rpc: `multihub.${role}.v1.${service}/${name.charAt(0).toUpperCase()}${name.slice(1)}`,
        callers,
      }))
    })
}

// O1
test('each RPC that permits the back office has exactly one row, or is one of its own calls', () => {
  const permitted = handlers().filter(({ callers }) => /'backoffice'/.test(callers))
  expect(permitted.length).toBeGreaterThan(60)
  // A stream has no handler: the door makes it of calls.
  const unary = OPERATOR_RPCS.map(({ method }) => method).filter(isUnary)
  const own = OWN_RPCS.filter(({ parent }) => roleOf(parent) !== 'gateway')
  const known = [...unary, ...own].map(nameOfRpc)
  expect(known.sort()).toEqual(permitted.map(({ rpc }) => rpc).sort())
})

test('a row names fields that its messages have', () => {
  const fieldsOf = (message: { readonly fields: readonly { readonly localName: string }[] }) =>
    message.fields.map(({ localName }) => localName)
  for (const { method, merchant, personal = [] } of OPERATOR_RPCS) {
    expect(fieldsOf(method.input)).toEqual(expect.arrayContaining([...personal]))
    if (merchant?.from === 'request') expect(fieldsOf(method.input)).toContain('merchantId')
    if (merchant?.from === 'answer') expect(fieldsOf(method.output)).toContain(merchant.field)
    if (merchant?.from === 'look-up') expect(fieldsOf(merchant.find.output)).toContain(merchant.field)
    if (merchant?.from === 'own list') expect(fieldsOf(merchant.list.output)).toContain(merchant.field)
  }
})
