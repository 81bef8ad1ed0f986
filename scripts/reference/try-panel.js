// The panel "Try it" of the local run. What a server or a person has written is only ever set as text.
const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

const labelled = (text, field) => element('label', {}, text, field)
const shown = (title, text) => [element('h3', { textContent: title }), element('pre', { textContent: text })]

async function addPanel() {
  const [{ applications }, reference] = await Promise.all(
    ['/reference/try', document_url].map(async (url) => (await fetch(url)).json()),
  )
  const operations = Object.entries(reference.paths).flatMap(([path, { post }]) => {
    const { method, ...envelope } = post?.requestBody?.content['application/json']?.example ?? {}
    const name = path.split('#')[1] ?? (post?.operationId === 'webhookResend' && 'webhook.resend')
    return name ? [{ method: name, summary: post.summary, envelope }] : []
  })
  const version = is_v2 ? 'v2' : 'v1'
  const application = element(
    'select',
    { name: 'application_id' },
    ...applications
      .filter(({ api_version }) => api_version === version)
      .map(({ application_id, merchant }) =>
        element('option', { value: application_id, textContent: `${application_id} (${merchant})` }),
      ),
  )
  const method = element(
    'select',
    { name: 'method' },
    ...operations.map(({ method, summary }) =>
      element('option', { value: method, textContent: `${method}: ${summary}` }),
    ),
  )
  const request = element('textarea', { name: 'request', spellcheck: false })
  // The payment of the last answer, whose callback can be sent again.
  let payment_id
  const fill = () => {
    const { envelope } = operations.find((operation) => operation.method === method.value)
    const { routes } = applications.find(({ application_id }) => `${application_id}` === application.value)
    const text = JSON.stringify(envelope, undefined, 2)
    // The routes of this run, and references that are free.
    const route = method.value === 'payment.out' ? routes.out : routes.in
    const now = Date.now().toString(36)
    request.value = text
      .replace(/"service_id": \d+/, `"service_id": ${route}`)
      .replace(/"operation_id": "/, `"operation_id": "${now}-`)
    if (/^(?:payment\.(?:in|out)|ticket\.create|refund\.request)$/.test(method.value))
      request.value = request.value.replace(/"c_id": "/, `"c_id": "${now}-`)
    if (payment_id) request.value = request.value.replace(/"payment_id": "[^"]*/, `"payment_id": "${payment_id}`)
  }
  const result = element('output')
  const form = element(
    'form',
    {},
    labelled('Application', application),
    labelled('Method', method),
    labelled('Request, without the name of the method', request),
    element('button', { textContent: 'Sign and send' }),
  )
  method.addEventListener('change', fill)
  application.addEventListener('change', fill)
  fill()
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    result.replaceChildren('…')
    try {
      const envelope = JSON.parse(request.value)
      const body = { ...envelope, application_id: Number(application.value), method: method.value }
      const response = await fetch('/reference/try', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
      const answer = await response.json()
      if (!response.ok) throw new Error(answer.message)
      payment_id = parsed(answer.response.body)?.result?.payment?.identifiers.h_id ?? payment_id
      result.replaceChildren(
        ...shown('Sent', `POST ${answer.request.path}\n${answer.request.headers}\n\n${answer.request.body}`),
        ...shown('Answer', `HTTP ${answer.response.http_status}\n${answer.response.headers}\n\n${pretty(answer.response.body)}`),
        ...shown('Signature of the answer', answer.response.is_signed ? 'verified' : 'not signed with this secret'),
      )
    } catch (error) {
      result.replaceChildren(...shown('Not sent', error.message))
    }
  })
  document.body.append(
    element('details', { id: 'try' }, element('summary', { textContent: 'Try it' }), form, result),
  )
}

const pretty = (text) => JSON.stringify(parsed(text), undefined, 2) ?? text

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

addPanel()
