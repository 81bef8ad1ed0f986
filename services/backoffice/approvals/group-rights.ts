import { create, toBinary } from '@bufbuild/protobuf'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { now } from '#lib/base/time.ts'
import type { Principal } from '../domain/principal.ts'
import { propose } from './domain/approval.ts'
import { findApproval, rowOf, type SecondPersonDeps, UPDATE_PRINCIPAL } from './second-person.ts'

/** What a sign-in must know of the second person. */
export type HeldBackRights = ReturnType<typeof createHeldBackRights>

/**
 * Holds back `money` and `admin` that the groups of a person give while a policy exists (O5): else whoever decides about groups at
 * the OpenID provider could make an accomplice alone.
 */
export function createHeldBackRights({ approvals, show }: Pick<SecondPersonDeps, 'approvals' | 'show'>) {
  return {
    /** Whether somebody who gets a power needs a second person now. */
    holdsBack: async (): Promise<boolean> => (await approvals.listPolicies()).length > 0,
    /** Proposes what the groups of a person give beyond its rights, unless that waits already. The person cannot approve it. */
    async propose({ principal_id, rights, group_rights = [] }: Principal): Promise<void> {
      if (group_rights.every((right) => rights.includes(right))) return
      const { input } = PrincipalService.method.updatePrincipal
      const message = create(input, { principalId: principal_id, rights: [...group_rights] })
      const request = toBinary(input, message)
      const { present, next_id } = await findApproval(approvals, UPDATE_PRINCIPAL, '', request)
      if (present !== undefined) return
      const proposal = {
        approval_id: next_id,
        rpc: UPDATE_PRINCIPAL,
        request,
        shown_request: show({ rpc: rowOf(UPDATE_PRINCIPAL), request: message }),
        proposer_id: principal_id,
        by_sign_in: true,
        reason: 'its groups give these rights since its last sign-in',
      } as const
      await approvals.insertOrGet(propose(proposal, now()))
    },
  }
}
