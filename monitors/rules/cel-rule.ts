/** cel-rule: an expression that holds for every state of the objects of a kind. */
import { CelCompileError, compileCel, CelTyped, celTyped } from '../../components/cel/cel.ts'
import { bool, dyn, timestamp as timestampType } from '../../components/cel/cel-types.ts'
import { timestamp } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { nameOf, uidOf, type Change } from '../change.ts'
import { findingOf, type Finding, type Rule } from '../monitor.ts'

/** Steps that one evaluation may take, as the API server allows a validation rule. */
const mostSteps = 10_000_000
const longestShown = 200

/** Throws a CelCompileError. */
export function celRule(expression: string): Required<Pick<Rule, 'take'>> {
  const program = compileCel(expression, {
    variables: { object: dyn, oldObject: dyn, now: timestampType },
    results: [bool],
  })
  /** Objects that break it now: each is reported when it begins to. */
  const broken = new Set<string>()
  const shown =
    expression.length > longestShown ? `${expression.slice(0, longestShown)}...` : expression
  const fault = ({ resource, object, old, atMs }: Change): string | undefined => {
    const kind = { apiVersion: object.apiVersion, kind: resource.kind }
    const values = {
      object: { ...kind, ...object },
      oldObject: old === undefined ? null : { ...kind, ...old },
      now: celTyped(timestamp(atMs), 'timestamp') as CelTyped,
    }
    let steps = 0
    try {
      const holds = program.evaluate(values, (more) => {
        steps += more
        if (steps > mostSteps) throw new CelCompileError('the expression takes too long')
      })
      return holds === true ? undefined : `does not fulfil ${shown}`
    } catch (error) {
      return `cannot be judged by ${shown}: ${messageOf(error)}`
    }
  }
  return {
    take: (change): Finding[] => {
      const uid = uidOf(change.object)
      if (change.type === 'DELETED') {
        broken.delete(uid)
        return []
      }
      const why = fault(change)
      if (why === undefined) {
        broken.delete(uid)
        return []
      }
      if (broken.has(uid)) return []
      broken.add(uid)
      return [findingOf(change, `${nameOf(change)} of revision ${change.revision} ${why}`)]
    },
  }
}
