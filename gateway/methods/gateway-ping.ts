import { ignored, notApplicable, object } from '../json/schema.ts'
import { METHOD } from './fields.ts'
import { defineMethod, type Method } from './method.ts'

const REQUEST = object({
  method: METHOD,
  service_id: ignored(),
  operation_id: notApplicable(),
  params: object({}),
})

/** `gateway.ping`: shows a merchant that its signature is right. It calls nobody. */
export function gatewayPing(): Method {
  return defineMethod({ name: 'gateway.ping', schema: REQUEST, handle: () => ({ message: 'pong' }) })
}
