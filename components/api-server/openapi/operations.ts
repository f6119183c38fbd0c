/** Operations: every path of a resource with its methods, in a form from which both versions of OpenAPI are written. */
import { objectKindOf } from '../../api/object-kind.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { Resource, Subresource } from '../../machinery/objects/resource.ts'
import type { GroupVersionKind } from './definitions.ts'
import { capital, operationGroup, tagOf } from './names.ts'
import {
  deleteParameters,
  listParameters,
  logParameters,
  type Parameter,
  patchParameters,
  pathParameter,
  pretty,
  writeParameters,
} from './parameters.ts'

export type Method = 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch'

export interface Operation {
  readonly id: string
  readonly tag: string
  readonly description: string
  readonly action: string
  readonly kind: GroupVersionKind
  readonly parameters: readonly Parameter[]
  /** The schema name of the request's body; `Patch` for patch documents. */
  readonly body: string | undefined
  /** The schema name of the answer; `text` for plain text. */
  readonly answer: string
  readonly codes: readonly number[]
  /** The answer may also be a stream of watch events. */
  readonly streams: boolean
  readonly hasProtobuf: boolean
  /** Undefined for kinds without strategic merge patches. */
  readonly patchSchema: string | undefined
}

export interface PathItem {
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly methods: Readonly<Partial<Record<Method, Operation>>>
}

const namespaceParameter = pathParameter(
  'namespace',
  'object name and auth scope, such as for teams and projects',
)

const STATUS = 'meta/v1.Status'

/** What all operations of one resource have in common. */
interface Subject {
  readonly resource: Resource
  readonly dialect: Dialect
  /** `/api/v1`. */
  readonly root: string
  /** `CoreV1`. */
  readonly words: string
  /** `NamespacedPod` or `Node`. */
  readonly scoped: string
}

/** All paths of a resource, in upstream's order. */
export function pathsOf(dialect: Dialect, resource: Resource): PathItem[] {
  const { group, version, kind, namespaced } = resource
  const subject: Subject = {
    resource,
    dialect,
    root: group === '' ? `/api/${version}` : `/apis/${group}/${version}`,
    words: operationGroup(dialect, group, version),
    scoped: namespaced ? `Namespaced${kind}` : kind,
  }
  const collection = `${subject.root}${namespaced ? '/namespaces/{namespace}' : ''}/${resource.plural}`
  const items = [
    ...(namespaced ? [allNamespaces(subject)] : []),
    collectionPath(subject, collection),
    itemPath(subject, `${collection}/{name}`),
    ...resource.subresources.flatMap((sub) =>
      subresourcePaths(subject, sub, `${collection}/{name}`),
    ),
    ...(objectKindOf(resource).hasWatchPaths ? watchPaths(subject) : []),
  ]
  return items.filter(({ methods }) => Object.keys(methods).length > 0)
}

function operation(
  { resource, dialect }: Subject,
  about: Partial<Operation> & Pick<Operation, 'id' | 'description' | 'action'>,
): Operation {
  const { group, version, kind } = resource
  return {
    tag: tagOf(dialect, group, version),
    kind: { group, version, kind },
    parameters: [],
    body: undefined,
    answer: schemaName(resource),
    codes: [200],
    streams: false,
    hasProtobuf: objectKindOf(resource).hasProtobuf,
    patchSchema: objectKindOf(resource).patchSchema,
    ...about,
  }
}

function schemaName({ package: name, kind }: Resource): string {
  return `${name}.${kind}`
}

function listOperation(subject: Subject, id: string): Operation {
  const { resource } = subject
  return operation(subject, {
    id,
    description: `list or watch objects of kind ${resource.kind}`,
    action: 'list',
    parameters: listParameters,
    answer: `${resource.package}.${resource.listKind}`,
    streams: true,
  })
}

function allNamespaces(subject: Subject): PathItem {
  const { resource, words, root } = subject
  const id = `list${words}${resource.kind}ForAllNamespaces`
  return {
    path: `${root}/${resource.plural}`,
    parameters: [pretty],
    methods: resource.verbs.includes('list') ? { get: listOperation(subject, id) } : {},
  }
}

function createOperation(subject: Subject, id: string): Operation {
  const { kind } = subject.resource
  const article = /^[AEIOU]/.test(kind) ? 'an' : 'a'
  return operation(subject, {
    id,
    description: `create ${article} ${kind}`,
    action: 'post',
    parameters: writeParameters,
    body: schemaName(subject.resource),
    codes: [200, 201, 202],
  })
}

function collectionPath(subject: Subject, path: string): PathItem {
  const { resource, words, scoped } = subject
  const has = (verb: Resource['verbs'][number]) => resource.verbs.includes(verb)
  const many = operation(subject, {
    id: `delete${words}Collection${scoped}`,
    description: `delete collection of ${resource.kind}`,
    action: 'deletecollection',
    parameters: [...deleteParameters, ...listParameters.filter(({ name }) => !/watch/i.test(name))],
    body: 'meta/v1.DeleteOptions',
    answer: STATUS,
  })
  return {
    path,
    parameters: resource.namespaced ? [namespaceParameter, pretty] : [pretty],
    methods: {
      ...(has('list') ? { get: listOperation(subject, `list${words}${scoped}`) } : {}),
      ...(has('create') ? { post: createOperation(subject, `create${words}${scoped}`) } : {}),
      ...(has('deletecollection') ? { delete: many } : {}),
    },
  }
}

function itemParameters({ resource }: Subject): Parameter[] {
  const name = pathParameter('name', `name of the ${resource.kind}`)
  return resource.namespaced ? [name, namespaceParameter, pretty] : [name, pretty]
}

function itemPath(subject: Subject, path: string): PathItem {
  const { resource, words, scoped } = subject
  const remove = operation(subject, {
    id: `delete${words}${scoped}`,
    description: `delete ${/^[AEIOU]/.test(resource.kind) ? 'an' : 'a'} ${resource.kind}`,
    action: 'delete',
    parameters: deleteParameters,
    body: 'meta/v1.DeleteOptions',
    answer: STATUS,
    codes: [200, 202],
  })
  return {
    path,
    parameters: itemParameters(subject),
    methods: {
      ...readAndWrite(subject, resource.verbs, {
        of: '',
        suffix: '',
        schema: schemaName(resource),
      }),
      ...(resource.verbs.includes('delete') ? { delete: remove } : {}),
    },
  }
}

/** GET, PUT and PATCH of an item or of a part of it. */
function readAndWrite(
  subject: Subject,
  verbs: readonly string[],
  about: { of: string; suffix: string; schema: string; kind?: GroupVersionKind },
): Partial<Record<Method, Operation>> {
  const { words, scoped, resource } = subject
  const { of, suffix, schema } = about
  const make = (verb: string, rest: Partial<Operation> & Pick<Operation, 'action'>) =>
    operation(subject, {
      id: `${verb}${words}${scoped}${suffix}`,
      description: `${{ read: 'read', replace: 'replace', patch: 'partially update' }[verb]} ${of}the specified ${resource.kind}`,
      answer: schema,
      ...(about.kind === undefined ? {} : { kind: about.kind }),
      ...rest,
    })
  const methods: Partial<Record<Method, Operation>> = {}
  if (verbs.includes('get')) methods.get = make('read', { action: 'get' })
  if (verbs.includes('update')) {
    methods.put = make('replace', {
      action: 'put',
      parameters: writeParameters,
      body: schema,
      codes: [200, 201],
    })
  }
  if (verbs.includes('patch')) {
    methods.patch = make('patch', {
      action: 'patch',
      parameters: patchParameters,
      body: 'Patch',
      codes: [200, 201],
    })
  }
  return methods
}

function subresourcePaths(subject: Subject, sub: Subresource, item: string): PathItem[] {
  const { resource, words, scoped } = subject
  const path = `${item}/${sub.name}`
  const parameters = itemParameters(subject)
  const suffix = capital(sub.name)
  if (sub.kind.endsWith('Options')) return connectPaths(subject, sub, path)
  const kind = {
    group: sub.group ?? resource.group,
    version: sub.version ?? resource.version,
    kind: sub.kind,
  }
  const schema = `${sub.version === undefined ? resource.package : packageOf(sub)}.${sub.kind}`
  if (sub.name === 'log') {
    const read = operation(subject, {
      id: `read${words}${scoped}Log`,
      description: `read log of the specified ${resource.kind}`,
      action: 'get',
      parameters: logParameters,
      answer: 'text',
    })
    return [{ path, parameters: parameters.slice(0, -1), methods: { get: read } }]
  }
  const methods = readAndWrite(subject, sub.verbs, { of: `${sub.name} of `, suffix, schema, kind })
  if (sub.verbs.includes('create')) {
    methods.post = operation(subject, {
      id: `create${words}${scoped}${suffix}`,
      description: `create ${sub.name} of a ${resource.kind}`,
      action: 'post',
      parameters: writeParameters,
      body: schema,
      answer: schema,
      codes: [200, 201, 202],
      kind,
    })
  }
  return [{ path, parameters, methods }]
}

/** The package of a sub-resource's kind that lives in another group: its group without the domain. */
function packageOf({ group = '', version = '' }: Subresource): string {
  return `${group === '' ? 'core' : group.split('.')[0]}/${version}`
}

const connectMethods: Readonly<Record<string, Method>> = {
  get: 'get',
  create: 'post',
  update: 'put',
  patch: 'patch',
  delete: 'delete',
}

function connectPaths(subject: Subject, sub: Subresource, path: string): PathItem[] {
  const { resource, words, scoped } = subject
  const suffix = capital(sub.name)
  const kind = { group: resource.group, version: resource.version, kind: sub.kind }
  const isProxy = sub.name === 'proxy'
  const methods = (extra: string) => {
    const verbs: Method[] = sub.verbs.flatMap((verb) => connectMethods[verb] ?? [])
    return Object.fromEntries(
      [...verbs, ...(isProxy ? (['head', 'options'] as const) : [])].map((method) => [
        method,
        operation(subject, {
          id: `connect${words}${capital(method)}${scoped}${suffix}${extra}`,
          description: `connect ${method.toUpperCase()} requests to ${sub.name} of ${resource.kind}`,
          action: 'connect',
          answer: 'text',
          kind,
        }),
      ]),
    )
  }
  const parameters = itemParameters(subject).slice(0, -1)
  const below = pathParameter('path', 'path to the resource')
  return [
    { path, parameters, methods: methods('') },
    ...(isProxy
      ? [
          {
            path: `${path}/{path}`,
            parameters: [...parameters, below],
            methods: methods('WithPath'),
          },
        ]
      : []),
  ]
}

/** The deprecated paths under `/watch/`, which upstream still describes. */
function watchPaths(subject: Subject): PathItem[] {
  const { resource, root, words, scoped } = subject
  if (!resource.verbs.includes('watch')) return []
  const { plural, kind, namespaced } = resource
  const make = (id: string, action: string) =>
    operation(subject, {
      id,
      description: `watch ${action === 'watch' ? 'changes to an object' : 'individual changes to a list'} of kind ${kind}. deprecated: use the 'watch' parameter with a list operation instead.`,
      action,
      answer: 'meta/v1.WatchEvent',
      streams: true,
    })
  const inNamespace = namespaced ? '/namespaces/{namespace}' : ''
  const parameters = itemParameters(subject).slice(0, -1)
  const list = [...listParameters, pretty]
  return [
    ...(namespaced
      ? [
          {
            path: `${root}/watch/${plural}`,
            parameters: list,
            methods: { get: make(`watch${words}${kind}ListForAllNamespaces`, 'watchlist') },
          },
        ]
      : []),
    {
      path: `${root}/watch${inNamespace}/${plural}`,
      parameters: [...parameters.slice(1), ...list],
      methods: { get: make(`watch${words}${scoped}List`, 'watchlist') },
    },
    {
      path: `${root}/watch${inNamespace}/${plural}/{name}`,
      parameters: [...parameters, ...list],
      methods: { get: make(`watch${words}${scoped}`, 'watch') },
    },
  ]
}
