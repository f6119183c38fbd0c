/** FlowSchemas that match no request, and PriorityLevelConfigurations that get none. */
import type {
  FlowSchema,
  PriorityLevelConfiguration,
} from '../../../components/api/generated/types.ts'
import { conditionSeen, seen, type AnyCondition } from '../evidence.ts'
import { defineExplainer } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import { countText, listText } from '../names.ts'
import type { Related } from '../related.ts'

const levelOf = ({ spec }: FlowSchema): string => spec?.priorityLevelConfiguration?.name ?? ''

/** Judged by the levels that exist; the condition Dangling follows them. */
function explainSchema(schema: FlowSchema, related: Related): Finding[] {
  const { priorityLevelConfigurations: levels, incomplete } = related
  const level = levelOf(schema)
  const conditions = (schema.status?.conditions ?? []) as readonly AnyCondition[]
  const dangling = conditions.filter((one) => one.type === 'Dangling' && one.status === 'True')
  const isMissing = incomplete.has('priorityLevelConfigurations')
    ? dangling.length > 0
    : levels.length === 0
  if (isMissing) {
    return [
      {
        cause: 'Dangling',
        message: `The FlowSchema names the PriorityLevelConfiguration ${level}, which does not exist, so it matches no request.`,
        evidence: [
          seen(schema, `spec.priorityLevelConfiguration names ${level}`),
          ...dangling.map((one) => conditionSeen(schema, one)),
        ],
        next: [`create the PriorityLevelConfiguration ${level}, or name another one`],
      },
    ]
  }
  if ((schema.spec?.rules ?? []).length > 0) return []
  return [
    {
      cause: 'NoRules',
      message: 'The FlowSchema has no rules, so it matches no request.',
      evidence: [seen(schema, 'spec.rules is empty')],
      next: ['add a rule with the subjects and requests that it is for'],
    },
  ]
}

export const flowSchema = defineExplainer<FlowSchema>({
  needs: (schema) => [{ of: 'priorityLevelConfigurations', name: levelOf(schema) }],
  explain: explainSchema,
  state: (schema) =>
    `precedence ${schema.spec?.matchingPrecedence}, for the priority level ${levelOf(schema)}`,
})

function schemasOf(
  { metadata }: PriorityLevelConfiguration,
  { flowSchemas }: Related,
): readonly FlowSchema[] {
  return flowSchemas.filter((schema) => levelOf(schema) === metadata.name)
}

function explainLevel(level: PriorityLevelConfiguration, related: Related): Finding[] {
  if (related.incomplete.has('flowSchemas') || schemasOf(level, related).length > 0) return []
  const { name } = level.metadata
  return [
    {
      cause: 'NoFlowSchemas',
      message: 'No FlowSchema names the priority level, so it gets no requests.',
      evidence: [
        seen(level, `none of ${countText(related.flowSchemas.length, 'FlowSchema')} names it`),
      ],
      next: [`create a FlowSchema with spec.priorityLevelConfiguration.name: ${name}`],
    },
  ]
}

export const priorityLevelConfiguration = defineExplainer<PriorityLevelConfiguration>({
  needs: () => [{ of: 'flowSchemas' }],
  explain: explainLevel,
  state: (level, related) => {
    const { type, limited } = level.spec ?? {}
    const shares = limited === undefined ? '' : ` with ${limited.nominalConcurrencyShares} shares`
    const names = schemasOf(level, related).map(({ metadata }) => metadata.name ?? '')
    return `${type}${shares}, for the FlowSchemas ${listText(names, 5) || '(none)'}`
  },
})
