/** Target: what a request of the controller under test is about, as plans name it. */

export interface Target {
  /** As in RBAC. */
  readonly verb: string
  /** `configmaps`, `deployments.apps`, `websites.example.com/status`. */
  readonly resource: string
  readonly namespace: string
  /** Empty for a list, a watch and the deletion of a collection. A generated name is its prefix with a star: `web-*`. */
  readonly name: string
}

/** One request of a run: the `nth` (from 1) with the same target. */
export interface Point extends Target {
  readonly nth: number
}

const groupPath = /^\/(?:api\/[^/]+|apis\/([^/]+)\/[^/]+)\/(.+)$/
/** Below a namespace's own path, these are no kinds. */
const ofNamespaces = new Set(['status', 'finalize'])
const verbs: Readonly<Record<string, readonly [one: string, many: string]>> = {
  GET: ['get', 'list'],
  POST: ['create', 'create'],
  PUT: ['update', 'update'],
  PATCH: ['patch', 'patch'],
  DELETE: ['delete', 'deletecollection'],
}
const writeVerbs = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])

export function isWrite({ verb }: Pick<Target, 'verb'>): boolean {
  return writeVerbs.has(verb)
}

function placeOf(rest: string): { namespace: string; parts: readonly string[] } {
  const parts = rest.split('/').map(decodeURIComponent)
  const [first, namespace = '', kind] = parts
  if (first !== 'namespaces' || kind === undefined || ofNamespaces.has(kind))
    return { namespace: '', parts }
  return { namespace, parts: parts.slice(2) }
}

/** Whether a list is to be a watch; the Python client asks with `watch=True`. */
export function isWatch(url: URL): boolean {
  return ['true', '1'].includes((url.searchParams.get('watch') ?? '').toLowerCase())
}

/** Undefined for a path that is of no resource, such as discovery. `body` names what a create makes. */
export function targetOf(method: string, url: URL, body: unknown): Target | undefined {
  const [, group = '', rest] = groupPath.exec(url.pathname) ?? []
  const [one, many] = verbs[method] ?? []
  if (rest === undefined || one === undefined || many === undefined) return undefined
  const { namespace, parts } = placeOf(rest)
  const [plural = '', name = '', subresource] = parts
  const kind = group === '' ? plural : `${plural}.${group}`
  return {
    verb: name === '' ? (isWatch(url) ? 'watch' : many) : one,
    resource: subresource === undefined ? kind : `${kind}/${subresource}`,
    namespace,
    name: name === '' && method === 'POST' ? nameIn(body) : name,
  }
}

function nameIn(body: unknown): string {
  const { name, generateName } =
    (body as { metadata?: { name?: string; generateName?: string } } | undefined)?.metadata ?? {}
  if (name !== undefined && name !== '') return name
  return generateName === undefined || generateName === '' ? '' : `${generateName}*`
}

/** `create configmaps default/web`, `list pods`. */
export function describeTarget({ verb, resource, namespace, name }: Target): string {
  const place = [namespace, name].filter((part) => part !== '').join('/')
  return place === '' ? `${verb} ${resource}` : `${verb} ${resource} ${place}`
}
