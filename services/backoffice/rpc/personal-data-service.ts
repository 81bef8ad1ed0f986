import type { Client } from '@connectrpc/connect'
import {
  type ErasePersonRequest,
  type ErasePersonResponse,
  PersonalDataService,
} from '#gen/multihub/backoffice/v1/personal_data_service_pb.ts'
import { PaymentErasureService } from '#gen/multihub/payments/v1/payment_erasure_service_pb.ts'
import { SupportErasureService } from '#gen/multihub/support/v1/support_erasure_service_pb.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'

type Erasure = Pick<ErasePersonResponse, 'paymentIds' | 'hasMore'>

/** Implements `PersonalDataService`: each role erases what it has of a person (O11). */
export function createPersonalDataRpc(clientOf: ClientOf): RpcService {
  const payments = clientOf(PaymentErasureService)
  const support = clientOf(SupportErasureService)
  return rpcService(PersonalDataService, {
    erasePerson: by(['backoffice'], (request) => erasePerson({ payments, support }, request)),
  })
}

interface Erasers {
  readonly payments: Pick<Client<typeof PaymentErasureService>, 'erasePerson'>
  readonly support: Pick<Client<typeof SupportErasureService>, 'erasePerson'>
}

/** Erases by the role that has what the request names. Throws its refusal, and 2002 with its name when it is unavailable. */
async function erasePerson({ payments, support }: Erasers, request: ErasePersonRequest): Promise<Erasure> {
  const { merchantId, person } = request
  switch (person.case) {
    case 'ticketId':
      await named('support', support.erasePerson({ merchantId, person }))
      return { paymentIds: [], hasMore: false }
    case 'paymentId':
    case 'email': {
      const { paymentIds, hasMore } = await named('payments', payments.erasePerson({ merchantId, person }))
      return { paymentIds, hasMore }
    }
    default:
      throw fieldError(1005, 'person')
  }
}

async function named<T>(role: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw error instanceof PublicError && error.code === 2002 ? fieldError(2002, role) : error
  }
}
