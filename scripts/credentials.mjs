/**
 * Prints what a first signed request needs as exported shell variables: the address, a credential of the demonstration
 * merchant alpha, and its routes for deposits with UPI and for withdrawals with IMPS. Use it as eval "$(node
 * scripts/credentials.mjs)"; add v2 for the credential of that version.
 */
import { fail, readDemo } from './read-demo.mjs'

const [, , version = 'v1', ...more] = process.argv
if (!['v1', 'v2'].includes(version) || more.length > 0) {
  fail('usage: node scripts/credentials.mjs [v1|v2] (default v1)')
}

const demo = readDemo()
const alpha = demo.merchants.find(({ name }) => name === 'alpha')
const credential = alpha.credentials.find(({ api_version }) => api_version === version)
const routeOf = (wanted) =>
  alpha.routes.find(
    ({ purpose, direction, method }) =>
      purpose === 'normal' && direction === wanted.direction && method === wanted.method,
  )
const deposits = routeOf({ direction: 'in', method: 'upi' })
const withdrawals = routeOf({ direction: 'out', method: 'imps' })
console.log(`export BASE_URL=${demo.base_url}`)
console.log(`export APPLICATION_ID=${credential.application_id}`)
console.log(`export SECRET=${credential.secret}`)
console.log(`export SERVICE_ID=${deposits.service_id}`)
console.log(`export WITHDRAWAL_SERVICE_ID=${withdrawals.service_id}`)
console.log(`export BACKOFFICE_URL=${demo.backoffice_url}`)
console.log(`export OPERATOR_TOKEN=${demo.operator.token}`)
