/** The JSON Schema of scenario files, for editors. It accepts every file that the engine accepts. */
import { scenarioShape, stepKinds } from './scenario.ts'
import { regularExpression, string, withoutVariables } from '../../cluster/shape.ts'
import type { JsonSchema } from '../../cluster/shape.ts'

/** Fields that every step may have beside its kind. */
export const stepTitle = 'A title for reports.'
export const stepFails =
  'A regular expression: the step passes when it fails with a report that matches, and fails otherwise.'

function stepSchema(): JsonSchema {
  const names = stepKinds.map((kind) => kind.name)
  return {
    type: 'object',
    properties: {
      name: { ...string.schema, description: stepTitle },
      fails: { ...regularExpression.schema, description: stepFails },
      ...Object.fromEntries(names.map((name) => [name, { $ref: `#/definitions/${name}` }])),
    },
    additionalProperties: false,
    oneOf: names.map((name) => ({ required: [name] })),
  }
}

/** What `#/definitions/steps` refers to, and what that refers to. */
export function stepDefinitions(): JsonSchema {
  return {
    steps: { type: 'array', minItems: 1, items: { $ref: '#/definitions/step' } },
    step: stepSchema(),
    ...Object.fromEntries(
      stepKinds.map(({ name, summary, shape }) => [
        name,
        { ...shape.schema, description: summary },
      ]),
    ),
  }
}

/** A whole schema document. */
export function scenarioSchema(): JsonSchema {
  const { properties, ...rest } = scenarioShape.schema as JsonSchema & { properties: object }
  const { steps, ...settings } = properties as Record<string, JsonSchema>
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'A scenario of skiff',
    ...rest,
    // Only steps can use variables.
    properties: { ...withoutVariables(settings), steps },
    definitions: stepDefinitions(),
  }
}
