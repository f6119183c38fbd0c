/** A Stage document as a stage: `next` becomes steps in kwok's order, and texts keep their file and line. */
import type {
  Expression,
  KindRef,
  Located,
  Requirement,
  Stage,
  StageDelay,
  StageStep,
} from '../../components/stage-runner/stage.ts'
import type { Path } from '../path.ts'
import type { Issue } from '../shape.ts'
import type {
  GivenExpression,
  GivenNext,
  GivenRequirement,
  GivenStep,
  StageDocument,
  StageSpec,
} from './stage-shape.ts'

/** Where a document is from. */
export interface Source {
  readonly file: string
  readonly lines: readonly string[]
  lineOf(path: Path): number
}

interface Place {
  readonly source: Source
  readonly path: Path
  readonly issues: Issue[]
}

const inside = (place: Place, ...more: Path): Place => ({
  ...place,
  path: [...place.path, ...more],
})

function located(text: string, { source, path }: Place): Located {
  const line = source.lineOf(path)
  // The text of a block begins on the line after its indicator.
  const isBlock = /[|>][-+\d]*\s*(#.*)?$/.test(source.lines[line - 1] ?? '')
  return { text, file: source.file, line: isBlock ? line + 1 : line }
}

function only(names: readonly string[], given: object, { path, issues }: Place): void {
  const found = names.filter((name) => (given as Record<string, unknown>)[name] !== undefined)
  if (found.length === 1) return
  const message =
    found.length === 0
      ? `needs one of ${names.join(', ')}`
      : `${found.join(' and ')} cannot be combined`
  issues.push({ path, message })
}

function requirementOf(given: GivenRequirement, place: Place): Requirement {
  only(['cel', 'jq', 'key'], given, place)
  if (given.cel !== undefined)
    return { cel: located(given.cel.expression, inside(place, 'cel', 'expression')) }
  const { key = '', operator, values = [] } = given.jq ?? given
  const isJq = given.jq !== undefined
  const at = isJq ? inside(place, 'jq') : place
  if (operator === undefined && given.key !== undefined)
    place.issues.push({ path: at.path, message: 'operator is missing' })
  const needsValues = operator === 'In' || operator === 'NotIn'
  if (operator !== undefined && needsValues !== values.length > 0) {
    const message = needsValues ? `${operator} needs values` : `${operator} takes no values`
    place.issues.push({ path: at.path, message })
  }
  return { jq: located(key, inside(at, 'key')), operator: operator ?? 'Exists', values }
}

function expressionOf(given: GivenExpression | undefined, place: Place): Expression | undefined {
  if (given === undefined) return undefined
  only(['cel', 'jq', 'expressionFrom'], given, place)
  if (given.cel !== undefined)
    return {
      language: 'cel',
      ...located(given.cel.expression, inside(place, 'cel', 'expression')),
    }
  if (given.jq !== undefined)
    return { language: 'jq', ...located(given.jq.expression, inside(place, 'jq', 'expression')) }
  const { expressionFrom = '' } = given
  return { language: 'jq', ...located(expressionFrom, inside(place, 'expressionFrom')) }
}

function delayOf({ delay }: StageSpec, place: Place): StageDelay | undefined {
  if (delay === undefined) return undefined
  const from = (name: 'durationFrom' | 'jitterDurationFrom') =>
    expressionOf(delay[name], inside(place, name))
  return {
    durationMs: delay.durationMilliseconds ?? 0,
    durationFrom: from('durationFrom'),
    jitterMs: delay.jitterDurationMilliseconds,
    jitterFrom: from('jitterDurationFrom'),
  }
}

const typed = ({ kind, apiVersion }: KindRef): 'strategic' | 'merge' =>
  apiVersion === 'v1' && (kind === 'Pod' || kind === 'Node') ? 'strategic' : 'merge'

/** What a template makes must be written out: the rights of the runner cover it. */
function targetOf(template: string, { path, issues }: Place): KindRef {
  const field = (name: string): string | undefined =>
    new RegExp(`^${name}:[ ]*["']?([\\w./-]+)["']?[ ]*$`, 'm').exec(template)?.[1]
  const [apiVersion, kind] = [field('apiVersion'), field('kind')]
  if (apiVersion === undefined || kind === undefined) {
    const message = 'must begin with apiVersion and kind as they are, not made by actions'
    issues.push({ path: [...path, 'template'], message })
  }
  return { apiVersion: apiVersion ?? 'v1', kind: kind ?? '' }
}

/** In the order in which kwok does what one step says. */
function stepsOf(given: GivenStep, resource: KindRef, place: Place): StageStep[] {
  const { event, finalizers, patch, apply } = given
  const steps: StageStep[] = []
  if (event !== undefined) {
    const { type = 'Normal', reason = '', message = '' } = event
    steps.push({ kind: 'event', type, reason, message })
  }
  if (finalizers !== undefined) {
    const { add = [], remove = [], empty = false } = finalizers
    const names = (items: readonly { readonly value: string }[]) => items.map(({ value }) => value)
    steps.push({ kind: 'finalizers', add: names(add), remove: names(remove), empty })
  }
  if (given.delete === true) steps.push({ kind: 'delete' })
  if (patch !== undefined) {
    const { subresource, root, type = typed(resource), impersonation } = patch
    const template = located(patch.template, inside(place, 'patch', 'template'))
    const user = impersonation?.username
    steps.push({ kind: 'patch', subresource, root, type, template, user })
  }
  if (apply !== undefined) {
    const { subresource, type = 'apply', impersonation } = apply
    const at = inside(place, 'apply')
    const template = located(apply.template, inside(at, 'template'))
    const target = targetOf(apply.template, at)
    steps.push({
      kind: 'apply',
      subresource,
      type,
      template,
      target,
      user: impersonation?.username,
    })
  }
  if (steps.length === 0 && given.delete === undefined)
    place.issues.push({ path: place.path, message: 'the step does nothing' })
  return steps
}

/** In kwok's order: event, finalizers, patches or the status, delete. */
function stepsOfNext(next: GivenNext, resource: KindRef, place: Place): StageStep[] {
  const { event, finalizers, patches = [], statusTemplate, statusPatchAs } = next
  const { statusSubresource: subresource = 'status' } = next
  if (patches.length > 0 && statusTemplate !== undefined)
    place.issues.push({
      path: place.path,
      message: 'patches and statusTemplate cannot be combined',
    })
  const single = (step: GivenStep) => stepsOf(step, resource, place)
  const ofPatches = patches.flatMap((patch, index) => {
    const [made] = single({ patch })
    if (made?.kind !== 'patch') return []
    const at = inside(place, 'patches', index, 'template')
    return [{ ...made, template: located(patch.template, at) }]
  })
  const ofStatus: StageStep[] =
    statusTemplate === undefined || statusTemplate === ''
      ? []
      : [
          {
            kind: 'patch',
            subresource,
            root: 'status',
            type: typed(resource),
            template: located(statusTemplate, inside(place, 'statusTemplate')),
            user: statusPatchAs?.username,
          },
        ]
  return [
    ...(event === undefined ? [] : single({ event })),
    ...(finalizers === undefined ? [] : single({ finalizers })),
    ...(ofPatches.length > 0 ? ofPatches : ofStatus),
    ...(next.delete === true ? single({ delete: true }) : []),
  ]
}

/** Adds to `issues` what kwok would reject, or would leave out without a word. */
export function stageOfDocument(document: StageDocument, source: Source, issues: Issue[]): Stage {
  const { spec, metadata } = document
  const { resourceRef, selector, next, steps } = spec
  const resource = { apiVersion: resourceRef.apiGroup ?? 'v1', kind: resourceRef.kind }
  const place: Place = { source, path: ['spec'], issues }
  if (next !== undefined && steps !== undefined)
    issues.push({ path: ['spec'], message: 'next and steps cannot be combined' })
  const given = steps?.flatMap((step, index) =>
    stepsOf(step, resource, inside(place, 'steps', index)),
  )
  return {
    name: String(metadata['name']),
    place: `${source.file}:${source.lineOf([])}`,
    resource,
    matchLabels: selector.matchLabels ?? {},
    matchAnnotations: selector.matchAnnotations ?? {},
    requirements: (selector.matchExpressions ?? []).map((one, index) =>
      requirementOf(one, inside(place, 'selector', 'matchExpressions', index)),
    ),
    weight: spec.weight ?? 0,
    weightFrom: expressionOf(spec.weightFrom, inside(place, 'weightFrom')),
    delay: delayOf(spec, inside(place, 'delay')),
    steps: given ?? (next === undefined ? [] : stepsOfNext(next, resource, inside(place, 'next'))),
    immediateNextStage: spec.immediateNextStage ?? false,
  }
}
