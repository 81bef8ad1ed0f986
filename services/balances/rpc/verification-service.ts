import { VerificationService } from '#gen/multihub/balances/v1/verification_service_pb.ts'
import { type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Verifications } from '../store/verifications.ts'
import { getVerification } from '../use-cases/get-verification.ts'
import { startVerification } from '../use-cases/start-verification.ts'
import type { Verifier } from '../verification/verifier.ts'
import { verificationToProto } from './verification-proto.ts'

/** The callers that each RPC permits. */
const PERMISSIONS = {
  startVerification: ['operator'],
  getVerification: ['operator'],
} as const

/** Implements `VerificationService`. The verifier of this process begins at once; others follow within seconds. */
export function createVerificationRpc(verifications: Verifications, verifier: Verifier): RpcService {
  return rpcService(VerificationService, PERMISSIONS, {
    async startVerification({ fromFirstBatch }) {
      const progress = await startVerification(verifications, fromFirstBatch)
      verifier.wake()
      return { verification: verificationToProto(progress) }
    },
    async getVerification() {
      const progress = await getVerification(verifications)
      return progress ? { verification: verificationToProto(progress) } : {}
    },
  })
}
