/** sleep: waits for a duration of real time. To wait for a condition, use `expect`. */
import { duration, secondsText } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'

export const sleep = defineStep({
  name: 'sleep',
  summary: 'Let time pass: `sleep: 2s`.',
  shape: duration,
  title: (ms) => `sleep ${secondsText(ms)}`,
  run: async (ms, { clock, signal }) => await clock.sleep(ms, signal),
})
