/** Whether an address is of this machine itself, so that nothing leaves it. */
export function isThisMachine(url: string): boolean {
  return URL.canParse(url) && /^(?:(?:.*\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(url).hostname)
}

/** Whether what is sent to an address can be read on the way: it is not encrypted, and leaves this machine. */
export function isInsecure(url: string): boolean {
  return URL.canParse(url) && new URL(url).protocol === 'http:' && !isThisMachine(url)
}
