/** Environment: the variables this process was started with; the one place that reads them. */

/** Undefined for a variable that is not set. */
export const environment: Readonly<Record<string, string | undefined>> = process.env
