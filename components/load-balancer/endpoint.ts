/** Endpoint: the host and the port of a listener, as text `HOST:PORT` or `[IPv6]:PORT`. */

export interface Endpoint {
  readonly host: string
  readonly port: number
}

const form = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/

/** Undefined for text of another form, or a port above 65535. */
export function parseEndpoint(text: string): Endpoint | undefined {
  const [, ipv6, name, digits] = form.exec(text) ?? []
  const host = ipv6 ?? name
  const port = Number(digits)
  return host === undefined || port > 65_535 ? undefined : { host, port }
}

export function formatEndpoint({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
