/** The chain of admission plugins, and which of them run (`--enable-admission-plugins`, `--disable-admission-plugins`). */
import {
  admissionPlugins,
  defaultAdmissionPlugins,
  isAdmissionPlugin,
} from '../../api/admission-plugins.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { refusedBy } from '../request/refusal.ts'
import { allPlugins, type AdmissionDependencies } from './plugins.ts'
import { paramRights } from './policy/param-rights.ts'
import { rbacEscalation } from './rbac-escalation.ts'

/** First all mutating plugins, later all validating ones. */
export interface AdmissionChain {
  /** Calls every mutating plugin. Throws a StatusError to reject. Synchronous unless a plugin is not. */
  mutate(request: AdmissionRequest): void | Promise<void>
  /** Calls every validating plugin with the final object. Throws a StatusError to reject. */
  validate(request: AdmissionRequest): void | Promise<void>
}

type Step = (request: AdmissionRequest) => void | Promise<void>

function inOrder(steps: readonly Step[]): Step {
  async function rest(request: AdmissionRequest, start: number): Promise<void> {
    for (const step of steps.slice(start)) await step(request)
  }
  return (request) => {
    for (let index = 0; index < steps.length; index += 1) {
      const pending = steps[index]?.(request)
      if (pending !== undefined) return pending.then(() => rest(request, index + 1))
    }
    return undefined
  }
}

/** Runs all plugins once more when a webhook changed the object after them (upstream: reinvocation). */
function twiceWhenAsked(all: Step): Step {
  return (request) =>
    all(request)?.then(() => {
      const { rounds } = request
      if (rounds?.isAnotherAsked !== true) return undefined
      rounds.round = 1
      return all(request)
    })
}

/** Adds the plugin's name to the errors of the step. */
function named(plugin: string, step: Step): Step {
  const refuse = (error: unknown): never => {
    throw refusedBy(error, { plugin })
  }
  return (request) => {
    try {
      return step(request)?.catch(refuse)
    } catch (error) {
      return refuse(error)
    }
  }
}

/** The plugins as one, in the order given. */
export function admissionChain(plugins: readonly AdmissionPlugin[]): AdmissionChain {
  const ofPhase = (phase: 'mutate' | 'validate'): Step[] =>
    plugins.flatMap((plugin) => {
      const step = plugin[phase]
      return step === undefined ? [] : [named(plugin.name, step.bind(plugin))]
    })
  return {
    mutate: twiceWhenAsked(inOrder(ofPhase('mutate'))),
    validate: inOrder(ofPhase('validate')),
  }
}

/** The chosen plugins, in order, as a chain. */
export interface Admission extends AdmissionChain {
  /** Names of the plugins that run, in order. */
  readonly plugins: readonly string[]
}

function checkNames(names: readonly string[], flag: string): void {
  const unknown = names.filter((name) => !isAdmissionPlugin(name))
  if (unknown.length === 0) return
  throw new Error(
    `${flag}: plugin ${unknown.map((name) => `"${name}"`).join(', ')} is unknown; known are ${admissionPlugins.join(', ')}`,
  )
}

/** Throws an Error for a name that is unknown, or both enabled and disabled, and for a plugin that cannot start. */
export function createAdmission(
  flags: { readonly enable?: readonly string[]; readonly disable?: readonly string[] },
  dependencies: AdmissionDependencies,
): Admission {
  const { enable = [], disable = [] } = flags
  checkNames(enable, '--enable-admission-plugins')
  checkNames(disable, '--disable-admission-plugins')
  const both = enable.find((name) => disable.includes(name))
  if (both !== undefined) {
    throw new Error(
      `"${both}" in enable-admission-plugins and disable-admission-plugins overlapped`,
    )
  }
  const chosen = admissionPlugins
    .filter((name) => {
      const isDefault = defaultAdmissionPlugins.includes(name) && !disable.includes(name)
      return isDefault || enable.includes(name)
    })
    .map((name) => started(name, () => allPlugins[name](dependencies)))
  const always = [rbacEscalation(dependencies.checkEscalation), paramRights(dependencies)]
  const chain = admissionChain([...chosen, ...always])
  return { plugins: chosen.map(({ name }) => name), ...chain }
}

function started(name: string, create: () => AdmissionPlugin): AdmissionPlugin {
  try {
    return create()
  } catch (error) {
    const why = (error as Error).message
    throw new Error(`couldn't init admission plugin "${name}": ${why}`, { cause: error })
  }
}
