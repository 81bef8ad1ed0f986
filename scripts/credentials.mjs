/**
 * Prints what a first signed request needs, as shell variables: the address, the credential of the demonstration
 * merchant alpha, and its UPI route. Use it as eval "$(node scripts/credentials.mjs)".
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const path = join(process.env.MULTIHUB_HOME ?? '.local', 'demo.json')

try {
  const demo = JSON.parse(readFileSync(path, 'utf8'))
  const [alpha] = demo.merchants
  const credential = alpha.credentials.find(({ api_version }) => api_version === 'v1')
  const route = alpha.routes.find(({ purpose, method }) => purpose === 'normal' && method === 'upi')
  console.log(`BASE_URL=${demo.base_url}`)
  console.log(`APPLICATION_ID=${credential.application_id}`)
  console.log(`SECRET=${credential.secret}`)
  console.log(`SERVICE_ID=${route.service_id}`)
  console.log(`CONNECT_URL=${demo.connect_url}`)
  console.log(`OPERATOR_TOKEN=${demo.operator.token}`)
} catch {
  console.error(`${path} cannot be read: run "npm start" first, and wait for its line "ready".`)
  process.exit(1)
}
