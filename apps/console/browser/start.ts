import { loadOrReload } from './call/reload.ts'

/**
 * Loads the script and the style that the page names. It is the only file with the same name in every release, so it also runs
 * when the page came from one release and the rest is asked of another one.
 */
async function start({ main = '', style = '' }: DOMStringMap): Promise<void> {
  try {
    const [, { mount }] = await loadOrReload('start', () => Promise.all([loadStyle(style), import(main)]))
    mount(document.getElementById('console'))
  } catch {
    document.body.textContent =
      'The console could not be loaded. An update may be under way: load this page again in a minute.'
  }
}

function loadStyle(href: string): Promise<void> {
  const link = document.createElement('link')
  link.rel = 'stylesheet'
  link.href = href
  return new Promise((resolve, reject) => {
    link.onload = () => resolve()
    link.onerror = () => reject(new Error(`${href} is missing`))
    document.head.append(link)
  })
}

void start((document.currentScript as HTMLScriptElement).dataset)
