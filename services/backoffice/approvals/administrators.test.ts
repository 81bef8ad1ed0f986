import { expect, test } from '@jest/globals'
import { PrincipalKind } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { type DoorAnswer, FIRST_TOKEN, startDoor, type TestDoor } from '../backoffice.fixture.ts'
import { APPROVAL_HEADER } from '../rpc/principal-service.ts'

const APPROVALS = 'multihub.backoffice.v1.ApprovalService'
const PRINCIPALS = 'multihub.backoffice.v1.PrincipalService'
const POLICY = { rpc: 'multihub.balances.v1.BalanceService/Adjust', currency: 'INR' }

/** Sets the policy, or removes it without an amount. */
function setPolicy(door: TestDoor, token: string, aboveMinor?: string): Promise<DoorAnswer> {
  const amount = aboveMinor === undefined ? {} : { aboveMinor }
  return door.call(token, `${APPROVALS}/SetApprovalPolicy`, { ...POLICY, ...amount })
}

async function listPolicies(door: TestDoor, token: string): Promise<readonly object[]> {
  return (await door.call(token, `${APPROVALS}/ListApprovalPolicies`, {})).body.policies ?? []
}

async function revoke(door: TestDoor, { id }: { readonly id: string }): Promise<void> {
  const { revokePrincipal } = door.roles.client(PrincipalService, 'backoffice')
  await revokePrincipal({ principalId: id, reason: 'left' })
}

// O5.6, O15.1
test('an administrator whose first token nobody can issue any more does not keep the first token from counting', async () => {
  await using door = await startDoor([])
  const ann = await door.newPrincipal(['admin'])
  expect(await setPolicy(door, ann.token, '100')).toMatchObject({ status: 200 })
  const { createPrincipal } = door.roles.client(PrincipalService, 'backoffice')
  const approved = { name: 'new', kind: PrincipalKind.PERSON, rights: ['admin'], operationId: uuidv7() }
  expect(await createPrincipal(approved, { headers: { [APPROVAL_HEADER]: 'approval' } })).toMatchObject({
    token: '',
  })
  expect(await setPolicy(door, FIRST_TOKEN)).toMatchObject({ status: 401 })
  await revoke(door, ann)
  await eventually(
    () => setPolicy(door, FIRST_TOKEN),
    (answer) => answer?.status === 200,
  )
})

// O5.9
test('when no administrator is left, the first token removes a policy alone, and makes no accomplice alone', async () => {
  await using door = await startDoor([])
  const [ann, bob] = [await door.newPrincipal(['admin']), await door.newPrincipal(['admin'])]
  expect(await setPolicy(door, ann.token, '100')).toMatchObject({ status: 200 })
  // A colleague's proposal of the same removal waits.
  expect((await setPolicy(door, ann.token)).body.code).toBe('failed_precondition')
  await revoke(door, bob)
  expect(await setPolicy(door, FIRST_TOKEN)).toMatchObject({ status: 401 })
  await revoke(door, ann)
  const accomplice = { name: 'new', kind: 'PRINCIPAL_KIND_PERSON', rights: ['admin'] }
  const create = (): Promise<DoorAnswer> =>
    door.call(FIRST_TOKEN, `${PRINCIPALS}/CreatePrincipal`, { ...accomplice, operationId: uuidv7() })
  await eventually(create, (answer) => answer?.body.code === 'failed_precondition')
  expect(await setPolicy(door, FIRST_TOKEN)).toMatchObject({ status: 200 })
  expect(await listPolicies(door, FIRST_TOKEN)).toEqual([])
  expect(await create()).toMatchObject({ status: 200 })
})
