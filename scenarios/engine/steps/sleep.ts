/** sleep: waits for a duration, by the cluster's clock. To wait for a condition, use `expect`. */
import { duration, secondsText } from '../shape.ts'
import { defineStep } from '../step.ts'

export const sleep = defineStep({
  name: 'sleep',
  summary: 'Let time pass: `sleep: 2s`.',
  shape: duration,
  title: (ms) => `sleep ${secondsText(ms)}`,
  run: async (ms, { clock, signal }) => await clock.sleep(ms, signal),
})
