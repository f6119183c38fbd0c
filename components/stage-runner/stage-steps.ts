/** Steps of Stages, compiled: what to write for an object. Pure; errors name file and line. */
import { messageOf } from '../component-base/log.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import { load } from '../machinery/values/yaml.ts'
import { compileTemplate } from './template/template.ts'
import { TemplateError } from './template/template-error.ts'
import type { TemplateFunctions } from './template/template-functions.ts'
import type { Located, StageStep } from './stage.ts'
import { StageError } from './stage-error.ts'
import { stageFunctionNames } from './stage-functions.ts'

type Templated = Extract<StageStep, { template: Located }>

export type CompiledStep =
  | Exclude<StageStep, Templated>
  | {
      readonly kind: 'patch' | 'apply'
      readonly step: Templated
      /** The body of the patch, or the object to apply. Throws a StageError. */
      body(object: KubeObject, functions: TemplateFunctions): unknown
    }

interface JsonPatchItem {
  readonly op: string
  readonly path: string
  readonly value?: unknown
}

/** The template's line in the file: it is parsed without the blanks around it. */
function located(template: Located, error: unknown): StageError {
  if (!(error instanceof TemplateError)) return new StageError(template, messageOf(error), error)
  const before = /^\s*/.exec(template.text)?.[0].split('\n').length ?? 1
  const line = template.line + before - 1 + error.line - 1
  return new StageError({ ...template, line }, `template: ${error.message}`, error)
}

/** Throws a StageError. */
function compileLocated(template: Located) {
  const compiled = (() => {
    try {
      return compileTemplate(template.text.trim(), stageFunctionNames)
    } catch (error) {
      throw located(template, error)
    }
  })()
  return (object: KubeObject, functions: TemplateFunctions): unknown => {
    let text: string
    try {
      text = compiled.render(object, functions)
    } catch (error) {
      throw located(template, error)
    }
    try {
      return load(text)
    } catch (error) {
      const reason = `the template's result is no YAML: ${messageOf(error)}`
      throw new StageError(template, reason, error)
    }
  }
}

function rooted(step: Templated, made: unknown): unknown {
  const { template } = step
  if (step.kind === 'apply') return made
  const { root, type } = step
  if (type !== 'json') return root === undefined ? made : { [root]: made ?? {} }
  if (!Array.isArray(made))
    throw new StageError(template, 'the template of a JSON patch must make a list of operations')
  if (root === undefined) return made
  return (made as JsonPatchItem[]).map((item) => ({ ...item, path: `/${root}${item.path}` }))
}

/** Throws a StageError for a template that cannot be parsed. */
export function compileSteps(steps: readonly StageStep[]): readonly CompiledStep[] {
  return steps.map((step) => {
    if (step.kind !== 'patch' && step.kind !== 'apply') return step
    const render = compileLocated(step.template)
    return {
      kind: step.kind,
      step,
      body: (object, functions) => rooted(step, render(object, functions)),
    }
  })
}

/** The JSON patch that makes an object's finalizers what the step says; empty if they are that. */
export function finalizersPatch(
  { add, remove, empty }: Extract<StageStep, { kind: 'finalizers' }>,
  present: readonly string[] = [],
): readonly JsonPatchItem[] {
  const kept = empty ? [] : present.filter((name) => !remove.includes(name))
  const wanted = [...kept, ...add.filter((name) => !kept.includes(name))]
  const path = '/metadata/finalizers'
  if (wanted.length === present.length && wanted.every((name, index) => name === present[index]))
    return []
  if (wanted.length === 0) return [{ op: 'remove', path }]
  return [{ op: 'add', path, value: wanted }]
}
