/** Chainsaw operations as steps of a scenario. What has no step is a fault with its place. */
import { dirname, resolve } from 'node:path'
import { parseDuration } from '../../../components/component-base/flags.ts'
import { readText } from '../checked-file.ts'
import { parseLocatedDocuments, YamlError } from '../../../cluster/located-yaml.ts'
import type { Path } from '../../../cluster/path.ts'
import { scriptText, translated, wordOf } from './chainsaw-text.ts'
import type { Unsupported } from './chainsaw-text.ts'

type Data = Readonly<Record<string, unknown>>
export type StepData = Data

export interface Timeouts {
  readonly apply: unknown
  readonly assert: unknown
  readonly error: unknown
  readonly delete: unknown
  readonly exec: unknown
}

/** Upstream's (pkg/apis/v1alpha1/timeouts.go). */
export const defaultTimeouts: Timeouts = {
  apply: '5s',
  assert: '30s',
  error: '30s',
  delete: '15s',
  exec: '5s',
}

export interface OperationPlace {
  /** The file, for those that it names. */
  readonly file: string
  readonly path: Path
  readonly timeouts: Timeouts
  /** Of collectors. */
  readonly namespace: string
  readonly faults: Unsupported[]
}

const isData = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Fields that change nothing here: there are no templates without bindings, and output formats concern logs. */
const idle = ['template', 'skipLogOutput', 'skipCommandOutput', 'format', 'description']

/** The operation's fields; one that is not known is a fault. */
function fieldsOf(value: unknown, known: readonly string[], place: OperationPlace): Data {
  const fields = isData(value) ? value : {}
  if (!isData(value) && value !== null)
    place.faults.push({ path: place.path, message: 'must be a mapping' })
  for (const name of Object.keys(fields)) {
    if (known.includes(name) || idle.includes(name)) continue
    place.faults.push({
      path: [...place.path, name],
      message: `not supported; this operation takes ${known.join(', ')}`,
    })
  }
  return fields
}

/** The objects of `resource` or `file`. */
function resourcesOf(fields: Data, place: OperationPlace): Data[] {
  const { path, faults, file } = place
  if (isData(fields['resource'])) {
    return [translated(fields['resource'], [...path, 'resource'], faults) as Data]
  }
  const name = fields['file']
  const at = [...path, 'file']
  if (typeof name !== 'string' || /[*?[]|^https?:|^\(|\$/.test(name)) {
    const message =
      name === undefined
        ? 'needs resource or file'
        : `${JSON.stringify(name)}: only the path of one file is supported`
    faults.push({ path: at, message })
    return []
  }
  const { text, fault } = readText(resolve(dirname(file), name))
  if (text === undefined) {
    faults.push({ path: at, message: fault })
    return []
  }
  try {
    const inner: Unsupported[] = []
    const documents = parseLocatedDocuments(text).filter(({ value }) => isData(value))
    const objects = documents.map(({ value, lineOf }) => {
      const found: Unsupported[] = []
      const object = translated(value, [], found) as Data
      for (const one of found)
        inner.push({ path: at, message: `${name}:${lineOf(one.path)}: ${one.message}` })
      return object
    })
    faults.push(...inner)
    return objects
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    faults.push({ path: at, message: `${name}:${error.line}: ${error.message}` })
    return []
  }
}

/** Whether `expect` or `check` wants an error; other checks are faults. */
function wantsError(check: unknown, path: Path, faults: Unsupported[]): boolean | undefined {
  let wanted: boolean | undefined
  for (const [key, value] of Object.entries(isData(check) ? check : {})) {
    const test = key.replaceAll(/\s/g, '')
    if (test === '($error!=null)' && typeof value === 'boolean') wanted = value
    else if (test === '($error==null)' && typeof value === 'boolean') wanted = !value
    else if (test === '($error)' && value === null) wanted = false
    else
      faults.push({
        path: [...path, key],
        message: `${key}: this check is not supported; supported are ($error != null), ($error) and contains($stdout, TEXT)`,
      })
  }
  return wanted
}

function expectedError(fields: Data, { path, faults }: OperationPlace): Data {
  const expected = fields['expect']
  if (!Array.isArray(expected)) return {}
  const wanted = expected.map((one: unknown, index) => {
    const at = [...path, 'expect', index]
    if (isData(one) && one['match'] !== undefined)
      faults.push({ path: [...at, 'match'], message: 'not supported' })
    return isData(one) ? wantsError(one['check'], [...at, 'check'], faults) : undefined
  })
  return wanted.includes(true) ? { fails: '.' } : {}
}

interface Selected extends Data {
  readonly kind: unknown
}

function selectionOf(resource: Data): Selected {
  const { apiVersion, kind } = resource
  const { name, namespace, labels } = (resource['metadata'] ?? {}) as Data
  const selector = isData(labels)
    ? Object.entries(labels)
        .map(([key, value]) => `${key}=${String(value)}`)
        .join(',')
    : undefined
  return {
    kind,
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined && selector !== undefined ? { labelSelector: selector } : {}),
  }
}

/** Without what selects the objects. */
function matchOf({ apiVersion: _a, kind: _k, metadata, ...rest }: Data): Data {
  const { name: _n, namespace: _s, ...meta } = (metadata ?? {}) as Data
  return Object.keys(meta).length === 0 ? rest : { metadata: meta, ...rest }
}

function expectation(resource: Data, how: Data): StepData {
  const match = matchOf(resource)
  const matched = Object.keys(match).length === 0 ? {} : { match }
  return { expect: { ...selectionOf(resource), ...matched, ...how } }
}

/** `contains($stdout, 'text')`. */
const containing = /^\(contains\(\$(stdout|stderr),\s*'([^']*)'\)\)$/

/** The outcome that `check` wants of a command. */
function outcomeOf(fields: Data, { path, faults }: OperationPlace): Data {
  const texts: Record<string, string> = {}
  const others: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(isData(fields['check']) ? fields['check'] : {})) {
    const [, stream, text] = containing.exec(key) ?? []
    if (stream !== undefined && value === true) texts[stream] = scriptText(text ?? '')
    else others[key] = value
  }
  const wanted = wantsError(others, [...path, 'check'], faults)
  if (wanted === true && Object.keys(texts).length > 0)
    faults.push({
      path: [...path, 'check'],
      message: 'an error together with output is not supported',
    })
  const expected = Object.keys(texts).length === 0 ? {} : { expect: texts }
  return wanted === true ? { fails: '.', expected } : { expected }
}

function environmentOf(fields: Data, { path, faults }: OperationPlace): Data {
  const env = Array.isArray(fields['env']) ? (fields['env'] as Data[]) : []
  const pairs = env.map(({ name, value }, index) => [
    String(name),
    translated(value, [...path, 'env', index, 'value'], faults),
  ])
  return { env: { NAMESPACE: '${namespace}', ...Object.fromEntries(pairs) } }
}

function commandStep(command: unknown, fields: Data, place: OperationPlace): StepData[] {
  const { fails, expected } = outcomeOf(fields, place) as { fails?: string; expected: Data }
  const within = fields['timeout'] ?? place.timeouts.exec
  return [
    {
      ...(fails === undefined ? {} : { fails }),
      run: { command, ...environmentOf(fields, place), within, ...expected },
    },
  ]
}

function deletions(fields: Data, place: OperationPlace): StepData[] {
  const { path, faults, timeouts } = place
  const policy = fields['deletionPropagationPolicy']
  const within = fields['timeout'] ?? timeouts.delete
  const ref = translated(fields['ref'], [...path, 'ref'], faults)
  const objects = isData(ref) ? [{ ...ref, metadata: ref }] : resourcesOf(fields, place)
  return objects.flatMap((object) => {
    const { labelSelector, ...selected } = selectionOf(object)
    if (selected['name'] === undefined || labelSelector !== undefined) {
      faults.push({ path: [...path, 'ref'], message: 'only a deletion by name is supported' })
      return []
    }
    const how = policy === undefined ? {} : { propagation: policy }
    return [
      { ...expectedError(fields, place), delete: { ...selected, ...how, ignoreMissing: true } },
      { expect: { ...selected, absent: true, within } },
    ]
  })
}

function waits(given: Data, place: OperationPlace): StepData[] {
  const { path, faults, timeouts } = place
  const fields = translated(given, path, faults) as Data
  const { apiVersion, kind, name, namespace, selector } = fields
  const wanted = isData(fields['for']) ? fields['for'] : {}
  const how = (): Data => {
    if (wanted['deletion'] !== undefined) return { absent: true }
    const { condition, jsonPath } = wanted as { condition?: Data; jsonPath?: Data }
    if (condition !== undefined) {
      const { name: type, value = 'True' } = condition
      return { where: `status.conditions[type=${String(type)}].status == ${String(value)}` }
    }
    if (jsonPath !== undefined)
      return { where: `${String(jsonPath['path'])} == ${String(jsonPath['value'])}` }
    faults.push({ path: [...path, 'for'], message: 'needs deletion, condition or jsonPath' })
    return {}
  }
  const within = fields['timeout'] ?? timeouts.assert
  const selected = { apiVersion, kind, name, namespace, labelSelector: selector }
  const named = Object.entries(selected).filter(([, value]) => value !== undefined)
  return [{ expect: { ...Object.fromEntries(named), ...how(), within } }]
}

/** Collectors show what is there; kubectl does it, where there is one. */
function collected(what: readonly string[], given: Data, place: OperationPlace): StepData[] {
  const fields = translated(given, place.path, place.faults) as Data
  const flags: readonly (readonly [flag: string, field: string])[] = [
    ['-l', 'selector'],
    ['-c', 'container'],
    ['--tail', 'tail'],
  ]
  const args = [
    ...what,
    ...['kind', 'name'].map((field) => wordOf(fields[field])).filter((word) => word !== ''),
    ...flags.flatMap(([flag, field]) => {
      const word = wordOf(fields[field])
      return word === '' ? [] : [flag, word]
    }),
    '-n',
    wordOf(fields['namespace'], place.namespace),
  ]
  return [{ kubectl: { args, show: true } }]
}

/** Upstream tries a write again until its timeout. */
const retryMs = 500

function written(
  name: 'apply' | 'create' | 'patch',
  params: unknown,
  { fields, place }: { readonly fields: Data; readonly place: OperationPlace },
): StepData {
  const step = { ...expectedError(fields, place), [name]: params }
  if ('fails' in step) return step
  const timeout = fields['timeout'] ?? place.timeouts.apply
  const timeoutMs = typeof timeout === 'string' ? parseDuration(timeout) : undefined
  if (timeoutMs === undefined) {
    place.faults.push({
      path: [...place.path, 'timeout'],
      message: `must be a duration such as 5s, not ${JSON.stringify(timeout)}`,
    })
  }
  const times = Math.max(1, Math.ceil((timeoutMs ?? 0) / retryMs))
  const { kind, metadata } = params as { kind?: unknown; metadata?: { name?: unknown } }
  const { name: own = metadata?.name } = params as { name?: unknown }
  const title = `${name} ${String(kind)} ${String(own)}`
  return { name: title, retry: { times, every: `${retryMs}ms`, steps: [step] } }
}

type Lower = (value: unknown, place: OperationPlace) => StepData[]

const objectFields = ['kind', 'apiVersion', 'name', 'namespace', 'selector', 'timeout']
const writeFields = ['resource', 'file', 'expect', 'timeout']

/** By the name of the operation. */
export const operations: Readonly<Record<string, Lower>> = {
  apply: (value, place) => {
    const fields = fieldsOf(value, writeFields, place)
    return resourcesOf(fields, place).map((apply) => written('apply', apply, { fields, place }))
  },
  create: (value, place) => {
    const fields = fieldsOf(value, writeFields, place)
    return resourcesOf(fields, place).map((create) => written('create', create, { fields, place }))
  },
  patch: (value, place) => {
    const fields = fieldsOf(value, [...writeFields, 'subresource'], place)
    const { subresource } = fields
    return resourcesOf(fields, place).map((resource) => {
      const { labelSelector: _, ...selected } = selectionOf(resource)
      const of = subresource === undefined ? {} : { subresource }
      return written('patch', { ...selected, ...of, patch: matchOf(resource) }, { fields, place })
    })
  },
  assert: (value, place) => {
    const fields = fieldsOf(value, ['resource', 'file', 'timeout'], place)
    const within = fields['timeout'] ?? place.timeouts.assert
    return resourcesOf(fields, place).map((resource) => {
      const { name } = (resource['metadata'] ?? {}) as Data
      const some = name === undefined ? { count: { atLeast: 1 } } : {}
      return expectation(resource, { ...some, within })
    })
  },
  error: (value, place) => {
    const fields = fieldsOf(value, ['resource', 'file', 'timeout'], place)
    const within = fields['timeout'] ?? place.timeouts.error
    return resourcesOf(fields, place).map((one) => expectation(one, { absent: true, within }))
  },
  delete: (value, place) => {
    const known = ['ref', 'file', 'expect', 'timeout', 'deletionPropagationPolicy']
    return deletions(fieldsOf(value, known, place), place)
  },
  script: (value, place) => {
    const fields = fieldsOf(value, ['content', 'env', 'check', 'timeout'], place)
    return commandStep(scriptText(wordOf(fields['content'])), fields, place)
  },
  command: (value, place) => {
    const fields = fieldsOf(value, ['entrypoint', 'args', 'env', 'check', 'timeout'], place)
    const args = Array.isArray(fields['args']) ? (fields['args'] as unknown[]) : []
    const words = translated(args, [...place.path, 'args'], place.faults) as unknown[]
    return commandStep([fields['entrypoint'], ...words], fields, place)
  },
  sleep: (value, place) => {
    const { duration } = fieldsOf(value, ['duration'], place)
    return [{ sleep: translated(duration, [...place.path, 'duration'], place.faults) }]
  },
  wait: (value, place) => waits(fieldsOf(value, [...objectFields, 'for'], place), place),
  describe: (value, place) =>
    collected(['describe'], fieldsOf(value, [...objectFields, 'showEvents'], place), place),
  get: (value, place) =>
    collected(['get', '-o', 'yaml'], fieldsOf(value, objectFields, place), place),
  events: (value, place) =>
    collected(['get', 'events'], fieldsOf(value, objectFields, place), place),
  podLogs: (value, place) =>
    collected(['logs'], fieldsOf(value, [...objectFields, 'container', 'tail'], place), place),
}
