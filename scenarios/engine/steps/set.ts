/** set: sets variables, such as to the values of CEL expressions: `set: { next: '${cel:n + 1}' }`. */
import { anything, record } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'

export const set = defineStep({
  name: 'set',
  summary: "Set variables: `set: { next: '${cel:n + 1}' }`.",
  shape: record(anything),
  title: (values) => `set ${Object.keys(values).join(', ')}`,
  run: async (values, { variables }) => {
    for (const [name, value] of Object.entries(values)) variables.set(name, value)
  },
})
