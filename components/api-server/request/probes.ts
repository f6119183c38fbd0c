/** probes: health checks, scrapes of metrics, and requests about the request journal itself. */
const probes = /^\/(?:healthz|livez|readyz|metrics)(?:$|\/)|^\/explain\/(?:requests|watches)$/

/** They would drown the records of requests, and faults spare them. */
export function isProbe({
  resource,
  path,
}: {
  readonly resource: string
  readonly path: string
}): boolean {
  return resource === '' && probes.test(path)
}
