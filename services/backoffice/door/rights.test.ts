import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { isUnary } from '#lib/rpc/service.ts'
import { startDoor, type TestDoor } from '../backoffice.fixture.ts'
import { nameOfRpc, OPERATOR_RPCS, type OperatorRpc } from '../domain/operator-rpcs.ts'
import { MERCHANT_RIGHTS, RIGHTS, type Right } from '../domain/rights.ts'

let door: TestDoor
const tokens = new Map<Right, string>()
const merchant_tokens = new Map<Right, string>()
beforeAll(async () => {
  // No owner is there: a permitted call fails later, and differently.
  door = await startDoor([])
  for (const right of RIGHTS) tokens.set(right, (await door.newPrincipal([right])).token)
  for (const right of MERCHANT_RIGHTS)
    merchant_tokens.set(right, (await door.newPrincipal([right], '7001')).token)
})
afterAll(async () => door[Symbol.asyncDispose]())

async function isRefused(token: string | undefined, { method }: OperatorRpc): Promise<boolean> {
  if (isUnary(method)) {
    const { body } = await door.call(token, nameOfRpc(method), {})
    return body.code === 'permission_denied'
  }
  // A stream answers with the length of each message before it.
  const response = await fetch(`${door.url}/${nameOfRpc(method)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/connect+json', authorization: `Bearer ${token}` },
    body: Buffer.from('\0\0\0\0\x02{}'),
  })
  return (await response.text()).includes('permission_denied')
}

// O1, O14
describe.each(OPERATOR_RPCS.map((rpc) => [nameOfRpc(rpc.method), rpc] as const))('%s', (_name, rpc) => {
  // The one RPC whose right depends on its request takes an empty one for a decision about money.
  const needed = rpc.rightsOf === undefined ? rpc.rights : (['money'] as const)

  test.each(RIGHTS)('with the right %s', async (right) => {
    const is_permitted = needed.includes(right as never) || needed.includes('read' as never)
    expect(await isRefused(tokens.get(right), rpc)).toBe(!is_permitted)
  })

  test.each(MERCHANT_RIGHTS)('for a principal of a merchant with the right %s', async (right) => {
    const is_permitted = needed.includes(right as never) || needed.includes('read' as never)
    expect(await isRefused(merchant_tokens.get(right), rpc)).toBe(!is_permitted || rpc.merchant === undefined)
  })
})
