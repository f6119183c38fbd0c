/** Selectors of devices, compiled once while they are in use. */
import type { compileDeviceSelector } from '../../../cel/device-selector.ts'
import type { CompileSelector } from './request-plan.ts'

/** Compiled expressions that are kept. */
const mostKept = 100

/** The least recently used goes first. An expression that does not compile fails anew each time. */
export function keepCompiled(compile: typeof compileDeviceSelector): CompileSelector {
  const kept = new Map<string, ReturnType<typeof compileDeviceSelector>>()
  return (expression) => {
    const selector = kept.get(expression) ?? compile(expression)
    kept.delete(expression)
    kept.set(expression, selector)
    const [oldest] = kept.keys()
    if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest)
    return selector
  }
}
